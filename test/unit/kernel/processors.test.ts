import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { usableProcessors } from '../../../src/kernel/processors.ts';

let root: string | null = null;

afterEach(() => {
  if (root !== null) rmSync(root, { recursive: true, force: true });
  root = null;
});

/** Number of processors, of 16 present ones, under a root with these files. */
function processors(files: Readonly<Record<string, string>>): number {
  root = mkdtempSync(join(tmpdir(), 'processors-'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return usableProcessors(root, 16);
}

const MOUNT_2 = '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n';
const MOUNT_1 =
  '33 25 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n' +
  '34 25 0:31 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n';

describe('usable processors', () => {
  test('Without control groups all present processors count', () => {
    expect(processors({})).toBe(16);
  });

  test('Half a processor of a version 2 quota counts as one', () => {
    const files = {
      'proc/self/mountinfo': MOUNT_2,
      'proc/self/cgroup': '0::/\n',
      'sys/fs/cgroup/cpu.max': '50000 100000\n',
    };
    expect(processors(files)).toBe(1);
  });

  test('Two and a half processors count as three', () => {
    const files = {
      'proc/self/mountinfo': MOUNT_2,
      'proc/self/cgroup': '0::/\n',
      'sys/fs/cgroup/cpu.max': '250000 100000\n',
    };
    expect(processors(files)).toBe(3);
  });

  test('The tightest quota of the groups above wins', () => {
    const files = {
      'proc/self/mountinfo': MOUNT_2,
      'proc/self/cgroup': '0::/system.slice/gatehouse.service\n',
      'sys/fs/cgroup/system.slice/gatehouse.service/cpu.max': '800000 100000\n',
      'sys/fs/cgroup/system.slice/cpu.max': '200000 100000\n',
    };
    expect(processors(files)).toBe(2);
  });

  test('The value max of version 2 and -1 of version 1 are no quota', () => {
    const files = {
      'proc/self/mountinfo': MOUNT_2 + MOUNT_1,
      'proc/self/cgroup': '3:cpu,cpuacct:/\n0::/\n',
      'sys/fs/cgroup/cpu.max': 'max 100000\n',
      'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '-1\n',
      'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
    };
    expect(processors(files)).toBe(16);
  });

  test('The quota of a version 1 container counts, whose mount shows its own group as the root', () => {
    const files = {
      'proc/self/mountinfo': MOUNT_1.replaceAll(' / /sys', ' /docker/0123 /sys'),
      'proc/self/cgroup': '4:memory:/docker/0123\n3:cpu,cpuacct:/docker/0123\n',
      'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '150000\n',
      'sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us': '100000\n',
    };
    expect(processors(files)).toBe(2);
  });

  test('A quota larger than the machine does not count', () => {
    const files = {
      'proc/self/mountinfo': MOUNT_2,
      'proc/self/cgroup': '0::/\n',
      'sys/fs/cgroup/cpu.max': '6400000 100000\n',
    };
    expect(processors(files)).toBe(16);
  });
});
