import { readFile, stat } from 'node:fs/promises';
import { parsePolicy, type ParsedPolicy } from '../risk/policy/policy-check.ts';
import type { PolicyNote } from '../risk/policy/policy-document.ts';
import { POLICY_BYTES_MAX } from '../kernel/limits.ts';
import { fileErrorCode } from './asset-files.ts';

interface Unreadable {
  readonly kind: 'unreadable';
  readonly detail: string;
}

/** Reads and validates a policy file. Never rejects. */
export async function readPolicyFile(path: string): Promise<ParsedPolicy | Unreadable> {
  const read = await readPolicyText(path);
  return read.kind === 'text' ? parsePolicy(read.text) : { kind: 'unreadable', detail: read.detail };
}

/** Returns the faults of `GATEHOUSE_POLICY_FILE` for a start, one line per fault; empty if the file can be used. */
export async function policyStartFaults(path: string): Promise<readonly string[]> {
  const read = await readPolicyFile(path);
  if (read.kind === 'ok') return [];
  if (read.kind === 'unreadable') return [`GATEHOUSE_POLICY_FILE cannot be used: ${read.detail}`];
  return read.faults.map((fault) => `GATEHOUSE_POLICY_FILE cannot be used: ${noteText(fault)}`);
}

/** Formats a note, for example `/bands/block must be a number from 0 to 100`. */
export function noteText({ pointer, message }: PolicyNote): string {
  return pointer === '' ? message : `${pointer} ${message}`;
}

export type PolicyText =
  | { readonly kind: 'text'; readonly text: string; readonly signature: string }
  /** It changed while it was read. */
  | { readonly kind: 'moved'; readonly detail: string }
  | Unreadable;

/** Returns the text with the signature that the file had before and after. Never rejects. */
export async function readPolicyText(path: string): Promise<PolicyText> {
  const signature = await policySignature(path);
  if (signature.kind === 'unreadable') return signature;
  try {
    const bytes = await readFile(path);
    const after = await policySignature(path);
    const isSame = after.kind === 'text' && after.signature === signature.signature;
    if (!isSame) return { kind: 'moved', detail: 'it changed while it was read' };
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { kind: 'text', text, signature: signature.signature };
  } catch (error) {
    return unreadable(error);
  }
}

/**
 * Returns a text that changes when the file may have changed. Includes the inode, because a file moved into place may keep size and time,
 * and the ctime, because a tool may set the mtime back.
 */
export async function policySignature(
  path: string,
): Promise<{ readonly kind: 'text'; readonly signature: string } | Unreadable> {
  try {
    const found = await stat(path, { bigint: true });
    // Reading anything else, such as a pipe, might never end.
    if (!found.isFile()) return { kind: 'unreadable', detail: 'it is not a regular file' };
    const { ino, size, mtimeNs, ctimeNs } = found;
    if (size > POLICY_BYTES_MAX) return { kind: 'unreadable', detail: `it is larger than ${POLICY_BYTES_MAX} bytes` };
    return { kind: 'text', signature: `${ino}:${size}:${mtimeNs}:${ctimeNs}` };
  } catch (error) {
    return unreadable(error);
  }
}

function unreadable(error: unknown): Unreadable {
  const code = fileErrorCode(error);
  if (code === 'ENOENT') return { kind: 'unreadable', detail: 'it does not exist' };
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return { kind: 'unreadable', detail: 'it is not valid UTF-8' };
  return { kind: 'unreadable', detail: `it cannot be read (${code})` };
}
