import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkModelApart } from '../../../src/assets/model-child.ts';
import { until } from '../../support/layer-folders.ts';

/** Limits of a process whose command line has this text; null without one. */
function limitsOf(text: string): string | null {
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(text))
        return readFileSync(`/proc/${name}/limits`, 'latin1');
    } catch {
      // It has ended.
    }
  }
  return null;
}

test.skipIf(process.platform !== 'linux')(
  'The process that checks a model has limits of memory and processor time, and no core dump',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'model-child-'));
    // Reading a pipe without a writer never ends.
    execFileSync('mkfifo', [join(folder, 'model.json')]);
    const checked = checkModelApart(folder, 3_000);
    await until(() => /^Max cpu time +120 /m.test(limitsOf('model-check-child') ?? ''));
    expect(limitsOf('model-check-child')).toMatch(/^Max data size +2147483648 /m);
    expect(limitsOf('model-check-child')).toMatch(/^Max core file size +0 /m);
    expect(await checked).toMatchObject({ kind: 'fault', code: 'load_failed' });
    rmSync(folder, { recursive: true, force: true });
  },
);
