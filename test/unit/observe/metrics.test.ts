import { describe, expect, test } from 'vitest';
import { layerReadings } from '../../../src/app/asset-states.ts';
import { ExtractionCounts } from '../../../src/extract/engine/counts.ts';
import { extractionReadings, NO_FIGURES } from '../../../src/extract/engine/job-metrics.ts';
import { BATCH_REQUESTS_MAX } from '../../../src/kernel/limits.ts';
import { countReadings, DecisionCounts } from '../../../src/observe/decision-counts.ts';
import { createMetrics, type Metrics } from '../../../src/observe/metrics.ts';
import { level, total } from '../../../src/observe/reading.ts';

const CODES = Array.from({ length: 64 }, (_, i) => `rule_${i}`);
/** The metrics of the decide path, and one of each kind without a label. */
function metricsOf(counts: DecisionCounts): Metrics {
  return createMetrics([
    ...countReadings(counts, CODES),
    level('gatehouse_some_records', 'Some.', () => 5),
    total('gatehouse_some_total', 'Some.', () => 7),
    ...layerReadings(() => ({
      store: { state: 'ok' },
      model: { state: 'absent' },
      geoip_city: { state: 'broken', refused: true },
      geoip_country: { state: 'ok', refused: true },
    })),
  ]);
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parses the text format by its grammar, with values as Go's ParseFloat accepts them. Throws on an invalid line. */
function parse(text: string): { samples: Sample[]; types: Map<string, string> } {
  const samples: Sample[] = [];
  const types = new Map<string, string>();
  for (const line of text.split('\n')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.*)$/.exec(line);
    if (comment?.[1] === 'TYPE') {
      if (types.has(comment[2] ?? '')) throw new Error(`two types: ${line}`);
      types.set(comment[2] ?? '', comment[3] ?? '');
    }
    if (line === '' || comment !== null) continue;
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (NaN|Nan|[+-]Inf|-?\d[\d.e+-]*)$/.exec(line);
    if (sample === null) throw new Error(`not a sample: ${line}`);
    const labels: Record<string, string> = {};
    for (const [, name, value] of (sample[2] ?? '').matchAll(/([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/g)) {
      labels[name ?? ''] = value ?? '';
    }
    samples.push({ name: sample[1] ?? '', labels, value: Number(sample[3]) });
  }
  return { samples, types };
}

async function scrape(counts: DecisionCounts) {
  return parse(await metricsOf(counts).text());
}

function valueOf(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return found.length === 1 ? found[0]?.value : undefined;
}

const own = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('gatehouse_'));

test('The text of the metrics is built in several turns of the event loop', async () => {
  let hasTurned = false;
  const slow = Array.from({ length: 4 }, (_none, i) =>
    level(`gatehouse_slow_${i}`, 'Takes a millisecond.', () => {
      const until = performance.now() + 1;
      while (performance.now() < until);
      return i === 3 && hasTurned ? 1 : 0;
    }),
  );
  const metrics = createMetrics(slow);
  setImmediate(() => (hasTurned = true));
  expect(await metrics.text()).toContain('\ngatehouse_slow_3 1\n');
});

describe('the metrics', () => {
  test('The metrics are in the Prometheus text format, each name with one type', async () => {
    const counts = new DecisionCounts(64);
    counts.refused('unknown_key');
    const { samples, types } = await scrape(counts);
    for (const { name } of samples) {
      expect(types.has(name) || types.has(name.replace(/_(bucket|sum|count)$/, ''))).toBe(true);
    }
    const unique = new Set(samples.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`));
    expect(unique.size).toBe(samples.length);
    expect(metricsOf(counts).contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  test('The metrics count decisions by value and refusals by code, and read gauges when they are scraped', async () => {
    const counts = new DecisionCounts(64);
    for (const decision of [0, 0, 0, 4]) counts.decided(decision, 0, 0, 1);
    counts.refused('unknown_key');
    counts.refused('unknown_key');
    counts.batchFailures = 6;
    counts.shadowRouted = 7;
    counts.observed[4] = 8;
    for (let i = 0; i < 300; i++) counts.trustedSource(`source ${i}`);
    counts.trustedSource('source 1');
    const { samples } = await scrape(counts);
    expect(valueOf(samples, 'gatehouse_observed_total', { decision: 'BLOCK' })).toBe(8);
    expect(valueOf(samples, 'gatehouse_trusted_total', { source: 'source 1' })).toBe(2);
    // More than 256 names share one label.
    expect(valueOf(samples, 'gatehouse_trusted_total', { source: '(others)' })).toBe(44);
    expect(valueOf(samples, 'gatehouse_decisions_total', { decision: 'ALLOW' })).toBe(3);
    expect(valueOf(samples, 'gatehouse_decisions_total', { decision: 'BLOCK' })).toBe(1);
    expect(valueOf(samples, 'gatehouse_decisions_total', { decision: 'REVIEW' })).toBe(0);
    expect(valueOf(samples, 'gatehouse_refusals_total', { code: 'unknown_key' })).toBe(2);
    expect(valueOf(samples, 'gatehouse_batch_failures_total')).toBe(6);
    expect(valueOf(samples, 'gatehouse_shadow_routed_total')).toBe(7);
    expect(valueOf(samples, 'gatehouse_some_records')).toBe(5);
    expect(valueOf(samples, 'gatehouse_some_total')).toBe(7);
    expect(valueOf(samples, 'gatehouse_layer_state', { layer: 'geoip_city' })).toBe(-1);
    expect(valueOf(samples, 'gatehouse_layer_state', { layer: 'geoip_country' })).toBe(1);
    expect(valueOf(samples, 'gatehouse_layer_refused', { layer: 'geoip_country' })).toBe(1);
    expect(valueOf(samples, 'gatehouse_layer_refused', { layer: 'store' })).toBe(0);
  });

  test('A second scrape returns the same totals', async () => {
    const counts = new DecisionCounts(64);
    counts.decided(1, 1, 0, 3);
    counts.batches[1] = 1;
    const metrics = metricsOf(counts);
    expect(own(await metrics.text())).toEqual(own(await metrics.text()));
  });

  test.each([
    ['no rule', []],
    ['the first of each half', [0, 32]],
    ['the last of each half', [31, 63]],
    ['all', CODES.map((_, i) => i)],
    ['some', [1, 30, 33, 62]],
  ])('Rule hits are counted from both halves: %s', (_name, rules) => {
    const counts = new DecisionCounts(64);
    let bits = 0n;
    for (const rule of rules) bits |= 1n << BigInt(rule);
    for (let i = 0; i < 3; i++) counts.decided(0, Number(bits & 0xffff_ffffn), Number(bits >> 32n), 1);
    expect([...counts.rules]).toEqual(CODES.map((_, i) => (rules.includes(i) ? 3 : 0)));
  });

  test('Rule hits from the 65th rule on are counted from the third word of bits', () => {
    const counts = new DecisionCounts(96);
    counts.decided(0, 0, 0, 1, 0x8000_0001);
    expect([...counts.rules].flatMap((count, at) => (count > 0 ? [at] : []))).toEqual([64, 95]);
  });

  test('Latency has cumulative buckets, inclusive bounds, and +Inf equal to the count', async () => {
    const counts = new DecisionCounts(64);
    const latenciesMs = [0, 0.1, 0.5, 0.6, 1, 3, 5, 5.01, 40, 99, 1_000, 1_001, 60_000];
    for (const ms of latenciesMs) counts.decided(0, 0, 0, ms);
    const { samples, types } = await scrape(counts);
    expect(types.get('gatehouse_decide_seconds')).toBe('histogram');
    const buckets = samples.filter(({ name }) => name === 'gatehouse_decide_seconds_bucket');
    for (const { labels, value } of buckets) {
      const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
      expect([labels['le'], value]).toEqual([labels['le'], latenciesMs.filter((ms) => ms / 1000 <= bound).length]);
    }
    expect(buckets.at(-1)?.labels['le']).toBe('+Inf');
    expect(buckets.map(({ value }) => value)).toEqual(buckets.map(({ value }) => value).sort((a, b) => a - b));
    expect(valueOf(samples, 'gatehouse_decide_seconds_count')).toBe(latenciesMs.length);
    expect(buckets.at(-1)?.value).toBe(latenciesMs.length);
    const sum = latenciesMs.reduce((all, ms) => all + ms / 1000, 0);
    expect(valueOf(samples, 'gatehouse_decide_seconds_sum')).toBeCloseTo(sum, 9);
  });

  test('Batch sizes are a histogram with the same properties', async () => {
    const counts = new DecisionCounts(64);
    const sizes = [1, 1, 2, 3, 16, 17, BATCH_REQUESTS_MAX - 1, BATCH_REQUESTS_MAX];
    for (const size of sizes) counts.batches[size] = (counts.batches[size] ?? 0) + 1;
    const { samples } = await scrape(counts);
    for (const { labels, value } of samples.filter(({ name }) => name === 'gatehouse_batch_requests_bucket')) {
      const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
      expect(value).toBe(sizes.filter((size) => size <= bound).length);
    }
    expect(valueOf(samples, 'gatehouse_batch_requests_count')).toBe(sizes.length);
    expect(valueOf(samples, 'gatehouse_batch_requests_sum')).toBe(sizes.reduce((sum, size) => sum + size, 0));
  });
});

test('Jobs are counted by connector and by outcome', async () => {
  const counts = new ExtractionCounts();
  for (const [connector, how] of [
    ['feed', 'succeeded'],
    ['feed', 'succeeded'],
    ['feed', 'cancelled'],
    ['generic', 'cancelled'],
  ] as const)
    counts.ended(connector, how);
  const figures = { ...NO_FIGURES, ends: counts.ends };
  const readings = extractionReadings(() => figures).filter(({ kind }) => kind === 'labelled');
  const metrics = createMetrics(readings);
  const { samples } = parse(await metrics.text());
  const ends = samples.filter(({ name }) => name === 'gatehouse_extraction_jobs_total');
  expect(ends.map(({ labels, value }) => [labels, value])).toEqual([
    [{ connector: 'feed', result: 'succeeded' }, 2],
    [{ connector: 'feed', result: 'cancelled' }, 1],
    [{ connector: 'generic', result: 'cancelled' }, 1],
  ]);
});
