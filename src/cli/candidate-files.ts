import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toOnnx } from '../learn/forest-onnx.ts';
import { candidatePage } from './candidate-page.ts';
import { type CandidateFiles, reportOnCandidate } from './candidate-figures.ts';

/** Returns the id of a candidate: its time, so that names are in order. */
export function candidateId(nowMs: number): string {
  return new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
}

/** Writes the files of a candidate; `model.json` comes last. */
export function writeCandidate(folder: string, files: CandidateFiles): void {
  const { id, nowMs, prior, columns, stock, candidate } = files;
  const { forest, threshold, golden } = candidate;
  mkdirSync(folder, { recursive: true });
  const put = (name: string, content: string | Uint8Array): void => writeFileSync(join(folder, name), content);
  const text = JSON.stringify(forest);
  const sha256 = createHash('sha256').update(text).digest('hex');
  const report = reportOnCandidate(files);
  const labels = { ...stock.labels, fraud_sessions: stock.fraudSessions, honest_sessions: stock.honestSessions };
  const trainedAt = new Date(nowMs).toISOString();
  const head = { name: 'forest', version: id, id, format: 'forest', sha256, prior, threshold, trained_at: trainedAt };
  const budget = files.budget === null ? {} : { budget: files.budget };
  const learnt = { ...budget, shadow_only: stock.isShadowOnly, policy_hash: report.policyHash, labels };
  put('forest.json', text);
  put('model.onnx', toOnnx(forest, columns.length));
  put('report.json', `${JSON.stringify(snakeCase(report), null, 2)}\n`);
  put('report.html', candidatePage(report));
  put('model.json', `${JSON.stringify({ ...head, ...learnt, columns, golden })}\n`);
}

/** Returns the value with the names of its members as files have them; names with other characters are columns and stay. */
function snakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      /^[a-zA-Z]+$/.test(name) ? name.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`) : name,
      snakeCase(member),
    ]),
  );
}
