import { expect } from 'vitest';
import type { Link } from '../../src/cluster/store/link.ts';
import { openLink } from '../../src/cluster/store/redis-link.ts';

/** Opens a link to a store that runs, and waits until it is up. `open` may be `openWaitingLink`. */
export async function linkTo(url: string, open: typeof openLink = openLink): Promise<Link> {
  const link = open({ urls: [url], user: null, password: null });
  await expect.poll(() => link.isUp, { timeout: 10_000, interval: 5 }).toBe(true);
  return link;
}
