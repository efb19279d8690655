import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { helpIfAsked } from './usage.ts';

helpIfAsked(`
prune-binaries [<folder of packages>]

Deletes the binaries of the model runtime (onnxruntime-node) for other systems and processors. The default folder is node_modules.
Measured: 245 of 290 MB on Linux x64.`);

const folder = join(process.argv[2] ?? 'node_modules', 'onnxruntime-node', 'bin');
const removed: string[] = [];

/** `napi-v6/linux/x64`: one folder for each interface, system and processor. */
for (const api of foldersIn(folder)) {
  for (const system of foldersIn(join(folder, api))) {
    for (const processor of foldersIn(join(folder, api, system))) {
      if (system === process.platform && processor === process.arch) continue;
      rmSync(join(folder, api, system, processor), { recursive: true });
      removed.push(`${system} ${processor}`);
    }
  }
}
console.log(removed.length === 0 ? 'nothing to remove' : `removed: ${removed.join(', ')}`);

function foldersIn(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
}
