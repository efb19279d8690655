import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface ForestFiles {
  readonly version?: string;
  /** The same for every row. */
  readonly probability?: number;
  /** Further members of `model.json`, or others instead. */
  readonly manifest?: Readonly<Record<string, unknown>>;
}

/** Writes a forest of one leaf with its manifest, which needs no package to run. */
export function writeForest(
  folder: string,
  { version = '1', probability = 0.9, manifest = {} }: ForestFiles = {},
): void {
  const value = Math.log(probability / (1 - probability));
  const forest = { format: 'gatehouse-forest', base: 0, scale: 1, shift: 0, starts: [0] };
  const text = JSON.stringify({ ...forest, column: [-1], threshold: [0], left: [0], right: [0], value: [value] });
  const sha256 = createHash('sha256').update(text).digest('hex');
  const golden = [{ features: [0], probability }];
  const head = { name: 'forest', version, format: 'forest', sha256, columns: ['geo:tor'], golden };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'forest.json'), text);
  writeFileSync(join(folder, 'model.json'), JSON.stringify({ ...head, ...manifest }));
}
