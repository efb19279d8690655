import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/**
 * Number of processors that this process may use, at least 1: those of its affinity mask or cpuset, or fewer if a CPU quota of its control
 * groups allows less. A fraction counts as a whole processor. `root` has the folders `proc` and `sys`; tests replace it.
 */
export function usableProcessors(root = '/', present = availableParallelism()): number {
  return Math.max(1, Math.min(present, Math.ceil(quotaOf(root))));
}

/** Returns the tightest CPU quota of all groups from this process's up to the root, in processors; Infinity without one. */
function quotaOf(root: string): number {
  let tightest = Number.POSITIVE_INFINITY;
  for (const { mountPoint, group, version } of groupsOf(root)) {
    const names = group.split('/').filter((name) => name !== '' && name !== '..');
    for (let length = names.length; length >= 0; length--) {
      const folder = join(root, mountPoint, ...names.slice(0, length));
      tightest = Math.min(tightest, version === 2 ? quotaOfVersion2(folder) : quotaOfVersion1(folder));
    }
  }
  return tightest;
}

interface Group {
  readonly version: 1 | 2;
  readonly mountPoint: string;
  /** Path below the mount point. */
  readonly group: string;
}

/** Returns this process's groups that can have a CPU quota: one of each mounted hierarchy. */
function groupsOf(root: string): readonly Group[] {
  const memberships = textOf(join(root, 'proc/self/cgroup')).split('\n');
  const groups: Group[] = [];
  for (const line of textOf(join(root, 'proc/self/mountinfo')).split('\n')) {
    // Source: proc(5): id, parent, device, root of the mount, mount point, options, …, "-", type, source, options of the hierarchy.
    const [before = '', after = ''] = line.split(' - ');
    const [, , , mountRoot = '', mountPoint = ''] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    const version = type === 'cgroup2' ? 2 : type === 'cgroup' && options.split(',').includes('cpu') ? 1 : null;
    if (version === null) continue;
    const membership = memberships.find((entry) => {
      const [, controllers = ''] = entry.split(':');
      return version === 2 ? entry.startsWith('0::') : controllers.split(',').includes('cpu');
    });
    const path = membership?.split(':').slice(2).join(':') ?? '/';
    // In a container the mount may show the container's own group only, while the path begins at the host's root.
    const isBelow = path === mountRoot || path.startsWith(mountRoot.endsWith('/') ? mountRoot : `${mountRoot}/`);
    groups.push({
      version,
      mountPoint: mountPoint.replaceAll(String.raw`\040`, ' '),
      group: isBelow ? path.slice(mountRoot.length) : '/',
    });
  }
  return groups;
}

/** Reads `cpu.max`: "50000 100000", or "max 100000". */
function quotaOfVersion2(folder: string): number {
  const [quota, period] = textOf(join(folder, 'cpu.max')).trim().split(' ');
  return quotient(quota, period);
}

function quotaOfVersion1(folder: string): number {
  return quotient(textOf(join(folder, 'cpu.cfs_quota_us')), textOf(join(folder, 'cpu.cfs_period_us')));
}

/** A missing file, "max" and −1 are no quota. */
function quotient(quota = '', period = ''): number {
  const value = Number(quota.trim()) / Number(period.trim());
  return value > 0 ? value : Number.POSITIVE_INFINITY;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
