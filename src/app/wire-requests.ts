import type { PolicyArchive } from '../assets/policy-archive.ts';
import { RequestLog } from '../history/request-log/request-log.ts';
import type { Clock } from '../kernel/clock.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Log } from '../observe/log.ts';
import { requestDaysOf } from '../risk/policy/policy-document.ts';
import { policyByCustomer } from './policy-by-customer.ts';
import { BacktestJobs } from './backtest-jobs.ts';
import type { Installation } from './installation.ts';
import type { Settings } from './settings.ts';

const TEND_MS = 1_000;

/** The request log, and the timer that writes it. */
export interface OpenRequests {
  readonly requestLog: RequestLog;
  readonly backtests: BacktestJobs;
  /** Writes what is pending, and ends the backtest that runs. */
  close(): Promise<void>;
}

/** `archive` is null on a node that neither decides nor serves the API: it logs nothing. */
export function openRequestLog(
  settings: Settings,
  { store, keyFor }: Pick<Installation, 'store' | 'keyFor'>,
  archive: Pick<PolicyArchive, 'at'> | null,
  clock: Clock,
  log: Log,
): OpenRequests {
  const idOf = (customer: CustomerNumber): string => store.customers.find(customer)?.id ?? '';
  const daysOf = archive === null ? () => 0 : policyByCustomer(archive, idOf, requestDaysOf);
  const requestLog = new RequestLog({ dataDir: settings.dataDir, daysOf, keyFor, log });
  const timer = setInterval(() => void requestLog.tend(clock.nowMs()), TEND_MS);
  const backtests = new BacktestJobs(settings, keyFor);
  return {
    requestLog,
    backtests,
    async close() {
      clearInterval(timer);
      backtests.close();
      await requestLog.tend(clock.nowMs(), true);
    },
  };
}
