import type { Database } from 'lmdb';
import { u32Key, withoutSum, withSum } from '../value.ts';
import type { JobNumber } from './row-keys.ts';

/** The node of a cluster that runs a job. */
export interface JobOwner {
  /** Id of the node; empty while no node runs the job. */
  readonly node: string;
  /** Grows with each change of the owner: what a former owner writes has an older one. */
  readonly token: number;
}

/** Owners of the jobs of a cluster. Jobs of a single node have no rows here. */
export class JobOwners {
  readonly #table: Database<Buffer, Buffer>;

  constructor(table: Database<Buffer, Buffer>) {
    this.#table = table;
  }

  get(job: JobNumber): JobOwner | null {
    const stored = this.#table.getBinary(u32Key(job));
    if (stored === undefined) return null;
    const row = Buffer.from(withoutSum(stored));
    return { token: row.readUInt32BE(0), node: row.toString('utf8', 4) };
  }

  /** Must be called inside a write transaction. */
  put(job: JobNumber, { node, token }: JobOwner): void {
    const key = u32Key(job);
    const head = Buffer.allocUnsafe(4);
    head.writeUInt32BE(token);
    void this.#table.put(key, withSum(key, Buffer.concat([head, Buffer.from(node)])));
  }

  /** Must be called inside a write transaction. */
  remove(job: JobNumber): void {
    const key = u32Key(job);
    if (this.#table.doesExist(key)) void this.#table.remove(key);
  }
}
