import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { listRequestFiles, type RequestFile } from './request-files.ts';
import { readLoggedEntries, readSegments, requestLogPurpose } from './request-frames.ts';
import type { RequestQuery } from './read-requests.ts';

/** Choice: some 5,000 requests, which take 20 ms to decompress; a segment of a busy customer has at most 0.6 MB. */
const TAIL_BYTES = 768 * 1_024;

/**
 * Returns the bodies of a customer's newest logged requests by request id: those of the last `TAIL_BYTES` of its log. The last five seconds
 * are not written yet. Failure direction: open. What cannot be read is left out.
 */
export function newestRequests({ dataDir, customer, keyFor }: RequestQuery): ReadonlyMap<string, Buffer> {
  const bodies = new Map<string, Buffer>();
  let left = TAIL_BYTES;
  for (const file of listRequestFiles(dataDir, customer).toReversed()) {
    if (left <= 0) break;
    const bytes = tailOf(file, left);
    left -= bytes.length;
    const purpose = requestLogPurpose(customer, file.day);
    for (const read of readSegments(bytes, keyFor(purpose), purpose)) {
      // The first bytes are the end of a segment.
      if (read.kind === 'damaged') continue;
      for (const entry of readLoggedEntries(read.entries))
        if (entry.kind === 'request') bodies.set(entry.requestId, entry.body);
    }
  }
  return bodies;
}

function tailOf({ path }: RequestFile, bytesMax: number): Buffer {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return Buffer.alloc(0);
  }
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, bytesMax));
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, size - bytes.length));
  } finally {
    closeSync(file);
  }
}
