import type { WatchNote } from '../../contract/vocabulary.ts';
import type { Extraction } from '../../work/extraction-job.ts';
import { findingOf } from '../../work/watch-compare.ts';
import { driftOf, NullCounter } from '../../work/watch-drift.ts';
import { type Watch, WATCH_RECORDS_MAX, type WatchEnd, type WatchFinding, type WatchRun } from '../../work/watch.ts';
import type { WatchRunnerParts } from './watch-parts.ts';

/** Choice: applying as many takes less than a millisecond of the main thread. */
const FINDINGS_AT_ONCE = 100;
const BYTES_AT_ONCE = 262_144;
const PAGE = { recordsMax: 1_000, bytesMax: 10_000_000 };

type CompareParts = Pick<WatchRunnerParts, 'watches' | 'changes' | 'control' | 'resetRead' | 'newSlices' | 'nowMs'>;

/**
 * Compares the records of an ended job with what the watch saw last, and applies the differences in the order of the records; then what is
 * absent. Starting again after a kill finds only the differences that are left. Returns how the run ended; null if it is not on its way any
 * more, or a write failed.
 */
export async function compareRecords(
  parts: CompareParts,
  watch: Watch & { readonly running: WatchRun },
  job: Extraction,
): Promise<WatchEnd | null> {
  if (job.counts.collected > WATCH_RECORDS_MAX)
    return { failure: 'too_many_records', isComplete: false, notes: [], records: job.counts.collected };
  const isComplete = job.counts.errors === 0 && job.notes.every((note) => note === 'records_truncated');
  const notes = new Set<WatchNote>(isComplete ? [] : ['incomplete']);
  // An incomplete run is no baseline, and before one there is nothing to compare with.
  if (!watch.hasBaseline && !isComplete)
    return { failure: null, isComplete, notes: [...notes], records: job.counts.collected };
  parts.resetRead();
  const writer = new FindingWriter(parts, watch);
  const nulls = hasOwnFields(job) ? new NullCounter() : null;
  const present = new Set<string>();
  let read = 0;
  for await (const record of recordsOf(parts, job)) {
    read++;
    nulls?.add(record);
    const finding = findingOf(record, watch);
    if (finding === null) notes.add('missing_key');
    else if (present.has(finding.keyHash)) notes.add('duplicate_key');
    else {
      present.add(finding.keyHash);
      if (!(await writer.add(finding))) return null;
    }
  }
  // A record that was removed meanwhile, or cannot be read, is not absent.
  if (read < job.counts.collected)
    return { failure: 'job_removed', isComplete: false, notes: [...notes], records: read };
  if (isComplete) {
    // Read before the first write, which changes them.
    const seen = [...parts.watches.seenKeys(watch)];
    for (const keyHash of seen) {
      if (!present.has(keyHash) && !(await writer.add({ keyHash, record: null }))) return null;
    }
  }
  if (!(await writer.flush())) return null;
  const drift = isComplete && nulls !== null ? driftOf(watch.nullShares ?? {}, nulls) : null;
  if (drift !== null && drift.drifted.length > 0) notes.add('selector_drift');
  const end = { failure: null, isComplete, notes: [...notes], records: job.counts.collected };
  return drift === null ? end : { ...end, drift };
}

/** Fields of the catalogue are read in many ways, and their absence is no sign of a selector. */
function hasOwnFields({ operation }: Extraction): boolean {
  return operation === 'page.select' || operation === 'site.select';
}

/** Yields the records in order, a page at a time; ends at one that cannot be read. */
async function* recordsOf(
  { control, newSlices }: CompareParts,
  { customer, id }: Extraction,
): AsyncGenerator<Readonly<Record<string, unknown>>> {
  const slices = newSlices();
  await slices.begin();
  for (let fromSeq: number | null = 0; fromSeq !== null;) {
    const query: { fromSeq: number; recordsMax: number; bytesMax: number } = { ...PAGE, fromSeq };
    const extent = await control.measureRecords(customer, id, query, slices);
    for await (const { bytes } of control.streamRecords(
      customer,
      id,
      { ...query, recordsMax: extent.records },
      slices,
    )) {
      // Its bytes are valid only until the next chunk.
      for (const line of Buffer.from(bytes).toString().split('\n')) {
        if (slices.isOver) await slices.begin();
        if (line !== '') yield JSON.parse(line) as Readonly<Record<string, unknown>>;
      }
    }
    fromSeq = extent.nextSeq === fromSeq ? null : extent.nextSeq;
  }
}

/** Collects differences and applies them in parts. */
class FindingWriter {
  readonly #parts: CompareParts;
  readonly #watch: Watch & { readonly running: WatchRun };
  #waiting: WatchFinding[] = [];
  #bytes = 0;

  constructor(parts: CompareParts, watch: Watch & { readonly running: WatchRun }) {
    this.#parts = parts;
    this.#watch = watch;
  }

  /** Returns false if the run is not on its way any more, or a write failed. */
  async add(finding: WatchFinding): Promise<boolean> {
    const { watches } = this.#parts;
    const { running } = this.#watch;
    const seen = watches.findSeen(this.#watch, finding.keyHash);
    const isKnown =
      finding.record === null
        ? seen === null || seen.missedRun === running.run
        : seen !== null && seen.hash === finding.record.hash && seen.missed === 0;
    if (isKnown) return true;
    this.#waiting.push(finding);
    this.#bytes += finding.record?.recordJson?.length ?? 0;
    return this.#waiting.length < FINDINGS_AT_ONCE && this.#bytes < BYTES_AT_ONCE ? true : this.flush();
  }

  async flush(): Promise<boolean> {
    const findings = this.#waiting;
    if (findings.length === 0) return true;
    this.#waiting = [];
    this.#bytes = 0;
    const { customer, id, running } = this.#watch;
    const written = await this.#parts.changes.commit(
      { kind: 'watch.compared', customer, id, run: running.run, findings },
      { by: 'service', nowMs: this.#parts.nowMs() },
    );
    this.#parts.resetRead();
    return written.kind === 'ok' && written.value;
  }
}
