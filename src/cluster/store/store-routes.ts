import type { ClusterAddress } from './link.ts';
import { readSlots, type Redirect, slotOf, SLOTS } from './hash-slots.ts';
import { type StoreAddress, StoreConnection } from './store-connection.ts';

/** Finds the connection for a command. */
export interface Routes {
  /** Null while the store of this key is not known. */
  find(key: string): StoreConnection | null;
  /** Follows a redirect that `from` has sent. */
  redirect(to: Redirect, from: StoreConnection): StoreConnection;
  readonly stores: Iterable<StoreConnection>;
  /** Connections that were replaced found this many outages. */
  readonly openedBefore: number;
  close(): void;
}

const PORT_DEFAULT = 6_379;
/** Choice: a failover of a Cluster takes seconds; each map of slots costs one command. */
const DISCOVERY_MS = 250;
const DISCOVERY_DEADLINE_MS = 1_000;

export function openRoutes(address: ClusterAddress): Routes {
  const roots = address.urls.map((url) => toStoreAddress(url, address));
  const [only] = roots;
  if (only === undefined) throw new Error('a link needs the address of a store');
  return roots.length === 1 ? new SingleRoute(only) : new ClusterRoutes(roots);
}

function toStoreAddress(url: string, { user, password }: ClusterAddress): StoreAddress {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return { host, port: port === '' ? PORT_DEFAULT : Number(port), isTls: protocol === 'rediss:', user, password };
}

class SingleRoute implements Routes {
  readonly openedBefore = 0;
  readonly stores: readonly [StoreConnection];

  constructor(address: StoreAddress) {
    this.stores = [new StoreConnection(address)];
  }

  find(): StoreConnection {
    return this.stores[0];
  }

  redirect(): StoreConnection {
    return this.stores[0];
  }

  close(): void {
    this.stores[0].close();
  }
}

/**
 * The primaries of a Cluster and their slots. Asks a primary that answers for the map of slots: at the start, after a redirect, and while a
 * primary does not answer, because its replica takes its slots over. The configured addresses are connected only while no primary answers.
 *
 * The client has a Cluster of its own. It is not used: its start fails for good when no root answers, its `MOVED` waits without end for the
 * connection to a primary that is dead, and it has neither a breaker nor a bound for each primary.
 */
class ClusterRoutes implements Routes {
  readonly #roots: readonly StoreAddress[];
  readonly #timer: NodeJS.Timeout;
  readonly #bySlot: (StoreConnection | undefined)[] = Array.from({ length: SLOTS }, () => undefined);
  #primaries = new Map<string, StoreConnection>();
  readonly #seeds = new Map<string, StoreConnection>();
  #isStale = true;
  #isDiscovering = false;
  #discoveries = 0;
  #openedBefore = 0;

  constructor(roots: readonly StoreAddress[]) {
    this.#roots = roots;
    this.#timer = setInterval(() => this.#tick(), DISCOVERY_MS).unref();
    this.#tick();
  }

  get stores(): Iterable<StoreConnection> {
    return this.#primaries.values();
  }

  get openedBefore(): number {
    return this.#openedBefore;
  }

  find(key: string): StoreConnection | null {
    return this.#bySlot[slotOf(key)] ?? null;
  }

  redirect({ kind, slot, host, port }: Redirect, from: StoreConnection): StoreConnection {
    const to = this.#primary(host === '' ? from.address.host : host, port);
    if (kind === 'moved') {
      this.#bySlot[slot] = to;
      this.#isStale = true;
    }
    return to;
  }

  close(): void {
    clearInterval(this.#timer);
    for (const store of [...this.#primaries.values(), ...this.#seeds.values()]) store.close();
    this.#primaries.clear();
    this.#seeds.clear();
  }

  #tick(): void {
    const primaries = [...this.#primaries.values()];
    if (primaries.some(({ isUp }) => isUp)) this.#closeSeeds();
    else this.#openSeeds();
    if (this.#isStale || primaries.some(({ isUp }) => !isUp)) this.#discover();
  }

  #openSeeds(): void {
    for (const root of this.#roots) {
      const name = `${root.host}:${root.port}`;
      if (!this.#seeds.has(name) && !this.#primaries.has(name)) this.#seeds.set(name, new StoreConnection(root));
    }
  }

  #closeSeeds(): void {
    for (const seed of this.#seeds.values()) seed.close();
    this.#seeds.clear();
  }

  #discover(): void {
    const candidates = [...this.#primaries.values(), ...this.#seeds.values()].filter(({ isUp }) => isUp);
    // Another one each time: one that is cut off from the others would keep an old map.
    const asked = candidates[this.#discoveries++ % Math.max(1, candidates.length)];
    if (asked === undefined || this.#isDiscovering) return;
    this.#isDiscovering = true;
    const unsent = asked.send(['CLUSTER', 'SLOTS'], DISCOVERY_DEADLINE_MS, {
      replied: (reply) => {
        this.#isDiscovering = false;
        const ranges = readSlots(reply);
        if (ranges !== null && ranges.length > 0) this.#learn(ranges, asked);
      },
      failed: () => {
        this.#isDiscovering = false;
      },
    });
    if (unsent !== null) this.#isDiscovering = false;
  }

  #learn(ranges: NonNullable<ReturnType<typeof readSlots>>, asked: StoreConnection): void {
    this.#isStale = false;
    const used = new Set<StoreConnection>();
    for (const { from, to, host, port } of ranges) {
      const primary = this.#primary(host === '' ? asked.address.host : host, port);
      used.add(primary);
      this.#bySlot.fill(primary, from, to + 1);
    }
    for (const [name, store] of this.#primaries) {
      if (used.has(store)) continue;
      this.#primaries.delete(name);
      this.#openedBefore += store.opened;
      store.close();
    }
  }

  #primary(host: string, port: number): StoreConnection {
    const name = `${host}:${port}`;
    const known = this.#primaries.get(name);
    if (known !== undefined) return known;
    const seed = this.#seeds.get(name);
    this.#seeds.delete(name);
    const [root] = this.#roots;
    if (root === undefined) throw new Error('a Cluster has no address');
    const primary = seed ?? new StoreConnection({ ...root, host, port });
    this.#primaries.set(name, primary);
    return primary;
  }
}
