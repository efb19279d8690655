import type { CustomerNumber } from '../../kernel/brand.ts';
import type { StateFeed } from '../../state/feed/changes.ts';
import type { Slices } from '../../state/tables/turns.ts';
import type { Watches } from '../../state/tables/watch-table.ts';
import type { ExtractionControl } from '../base/jobs-port.ts';
import type { RequestParts } from '../request/read-request.ts';

export interface WatchRunnerParts {
  readonly watches: Watches;
  readonly changes: Pick<StateFeed, 'commit' | 'onCommitted'>;
  readonly control: Pick<ExtractionControl, 'create' | 'find' | 'measureRecords' | 'streamRecords'>;
  readonly request: RequestParts;
  /** Name of this node; '' on a node that works alone. */
  readonly node: string;
  /** Whether another node lives and runs jobs. */
  isAlive(node: string): boolean;
  isSuspended(customer: CustomerNumber): boolean;
  /** Makes the next reads see what was committed. */
  resetRead(): void;
  newSlices(): Slices;
  nowMs(): number;
  readonly log: { warn(fields: object, message: string): void; error(fields: object, message: string): void };
}
