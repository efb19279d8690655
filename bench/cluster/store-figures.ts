/** What a Redis server reports about its work: replies of `INFO`, as text. */
export interface StoreReading {
  /** Command → calls and processor time, since `CONFIG RESETSTAT`. */
  readonly commands: ReadonlyMap<string, CommandFigures>;
  /** Bytes of requests and replies, without replication. */
  readonly netBytes: number;
  readonly memoryBytes: number;
}

export interface CommandFigures {
  readonly calls: number;
  /** Processor time inside the command, without reading requests and writing replies. */
  readonly us: number;
}

/** Choice: what the servers of a Cluster, or a bench, send by themselves, is no work of a node. */
const NOT_OURS = /^(info|config|ping|cluster|replconf|psync|command|client|hello|auth|readonly)/;

/** Reads the replies of `INFO commandstats`, `INFO stats` and `INFO memory`, joined. */
export function readStore(info: string): StoreReading {
  const commands = new Map<string, CommandFigures>();
  for (const [, name = '', calls, us] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm))
    if (!NOT_OURS.test(name)) commands.set(name, { calls: Number(calls), us: Number(us) });
  const field = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return {
    commands,
    netBytes: field('total_net_input_bytes') + field('total_net_output_bytes'),
    memoryBytes: field('used_memory'),
  };
}

/** Sums the readings of several servers. */
export function sumStores(readings: readonly StoreReading[]): StoreReading {
  const commands = new Map<string, CommandFigures>();
  for (const reading of readings)
    for (const [name, { calls, us }] of reading.commands) {
      const known = commands.get(name) ?? { calls: 0, us: 0 };
      commands.set(name, { calls: known.calls + calls, us: known.us + us });
    }
  const sum = (of: (reading: StoreReading) => number): number => readings.reduce((total, one) => total + of(one), 0);
  return { commands, netBytes: sum((one) => one.netBytes), memoryBytes: sum((one) => one.memoryBytes) };
}
