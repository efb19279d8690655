import { type ChildProcess, fork } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { type FeedReport, feedReports } from '../data/feed-report.ts';
import type { FeedUpdateSettings } from '../data/feed-update-child.ts';
import { programPath } from '../kernel/programs.ts';
import type { Log } from '../observe/log.ts';
import type { Reading } from '../observe/reading.ts';
import type { Settings } from './settings.ts';

/** Choice: `/readyz` is asked every few seconds, and feeds change every few hours. */
const KEPT_MS = 5_000;
const HOUR_MS = 3_600_000;
/** Choice: many times what an update takes whose publishers answer at once. */
const UPDATE_MS_MAX = 15 * 60_000;

/** The data feeds of a node: their states, and the updates every `dataUpdateHours`. */
export class DataFeeds {
  readonly #settings: Pick<Settings, 'dataDir' | 'geoipDir' | 'egressAllow' | 'dataUpdateHours'>;
  readonly #log: Log;
  #reports: Readonly<Record<string, FeedReport>> = {};
  #readAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;
  #child: ChildProcess | null = null;

  constructor(settings: Pick<Settings, 'dataDir' | 'geoipDir' | 'egressAllow' | 'dataUpdateHours'>, log: Log) {
    this.#settings = settings;
    this.#log = log;
  }

  reports(): Readonly<Record<string, FeedReport>> {
    if (performance.now() - this.#readAtMs >= KEPT_MS) {
      this.#reports = feedReports(this.#settings.dataDir, Date.now());
      this.#readAtMs = performance.now();
    }
    return this.#reports;
  }

  /** Begins at a random time within the interval, so that several nodes do not update, or fail, at the same time. */
  start(): void {
    const { dataUpdateHours } = this.#settings;
    if (dataUpdateHours > 0) this.#schedule(randomInt(dataUpdateHours * HOUR_MS));
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#child?.kill('SIGKILL');
  }

  #schedule(ms: number): void {
    this.#timer = setTimeout(() => {
      this.#update();
      this.#schedule(this.#settings.dataUpdateHours * HOUR_MS);
    }, ms).unref();
  }

  /** In a process of its own, which ends itself when this one does. */
  #update(): void {
    if (this.#child !== null) return;
    const { dataDir, geoipDir, egressAllow } = this.#settings;
    const given: FeedUpdateSettings = { dataDir, geoipDir, egressAllow };
    const child = fork(programPath('feed-update-child'), [JSON.stringify(given)], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      timeout: UPDATE_MS_MAX,
      killSignal: 'SIGKILL',
    });
    this.#child = child;
    let isDone = false;
    child.on('message', (message) => {
      isDone = true;
      this.#log.info({ feeds: message }, 'data feeds updated');
    });
    child.on('error', (error) => this.#log.warn({ detail: error.message }, 'data feeds were not updated'));
    child.on('exit', (code, signal) => {
      this.#child = null;
      if (!isDone) this.#log.warn({ code, signal }, 'data feeds were not updated');
    });
  }

  readings(): readonly Reading[] {
    const each = (count: (report: FeedReport) => number | null) => (): { labels: string[]; count: number }[] =>
      Object.entries(this.reports()).flatMap(([feed, report]) => {
        const value = count(report);
        return value === null ? [] : [{ labels: [feed], count: value }];
      });
    return [
      {
        name: 'gatehouse_data_feed_age_days',
        help: 'Age of a data feed in days; nothing for a feed that is absent.',
        kind: 'levels',
        labels: ['feed'],
        read: each((report) => report.age_days),
      },
      {
        name: 'gatehouse_data_feed_held',
        help: 'Whether the newest file of a data feed was refused: 1 while the one before is used.',
        kind: 'levels',
        labels: ['feed'],
        read: each(({ state }) => (state === 'held' ? 1 : 0)),
      },
    ];
  }
}
