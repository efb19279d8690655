import type { Database } from 'lmdb';
import { type Codec, type TypedTable, typedTable, u32Form } from '../typed-table.ts';
import { u32Key } from '../value.ts';
import type { JobNumber } from './row-keys.ts';

/** The node of a cluster that runs a job. */
export interface JobOwner {
  /** Id of the node; empty while no node runs the job. */
  readonly node: string;
  /** Grows with each change of the owner: what a former owner writes has an older one. */
  readonly token: number;
}

/** The token, u32, then the node. */
const VALUE: Codec<JobOwner> = {
  encode: ({ node, token }) => Buffer.concat([u32Key(token), Buffer.from(node)]),
  decode: (bytes) => ({ token: bytes.readUInt32BE(0), node: bytes.toString('utf8', 4) }),
};

/** Owners of the jobs of a cluster. Jobs of a single node have no rows here. Writes must be called inside a write transaction. */
export type JobOwners = Pick<TypedTable<JobNumber, JobOwner>, 'get' | 'put' | 'remove'>;

export function openJobOwners(database: Database<Buffer, Buffer>): JobOwners {
  return typedTable({ database, key: u32Form(), value: VALUE });
}
