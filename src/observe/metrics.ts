import { setImmediate as nextTurn } from 'node:timers/promises';
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { unreachable } from '../kernel/brand.ts';
import type { Buckets, Reading } from './reading.ts';

/** The text of /metrics, in the Prometheus format. */
export interface Metrics {
  readonly contentType: string;
  text(): Promise<string>;
}

export function createMetrics(readings: readonly Reading[]): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const reading of readings) registry.registerMetric(metricOf(reading));
  return { contentType: registry.contentType, text: () => textOf(registry) };
}

function metricOf(reading: Reading): Metric {
  const { name, help } = reading;
  switch (reading.kind) {
    case 'level':
      return gauge(name, help, [], () => [{ labels: [], count: reading.read() }]);
    case 'levels':
      return gauge(name, help, reading.labels, reading.read);
    case 'total':
      return counter(name, help, [], () => [{ labels: [], count: reading.read() }]);
    case 'totals':
      return counter(name, help, [reading.label], () =>
        [...reading.read()].map(([value, count]) => ({ labels: [value], count })),
      );
    case 'labelled':
      return counter(name, help, reading.labels, reading.read);
    case 'histogram':
      return histogramOf(name, help, reading.read);
    default:
      return unreachable(reading);
  }
}

/** A value for each combination of the labels' values. */
type ReadLabelled = () => Iterable<{ readonly labels: readonly string[]; readonly count: number }>;

function counter(name: string, help: string, labelNames: readonly string[], read: ReadLabelled): Counter {
  return new Counter({
    name,
    help,
    labelNames: [...labelNames],
    registers: [],
    collect() {
      this.reset();
      for (const { labels, count } of read()) this.inc(named(labelNames, labels), count);
    },
  });
}

function gauge(name: string, help: string, labelNames: readonly string[], read: ReadLabelled): Gauge {
  return new Gauge({
    name,
    help,
    labelNames: [...labelNames],
    registers: [],
    collect() {
      this.reset();
      for (const { labels, count } of read()) this.set(named(labelNames, labels), count);
    },
  });
}

function named(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));
}

/** A histogram with our own buckets, which the library only prints. */
function histogramOf(name: string, help: string, read: () => Buckets): Histogram {
  const histogram = new Histogram({ name, help, registers: [] });
  const get = (): Promise<unknown> => {
    const { bounds, counts, sum } = read();
    const values: { labels: Record<string, string | number>; value: number; metricName: string }[] = [];
    let total = 0;
    for (let at = 0; at <= bounds.length; at++) {
      total += counts[at] ?? 0;
      values.push({ labels: { le: bounds[at] ?? '+Inf' }, value: total, metricName: `${name}_bucket` });
    }
    values.push({ labels: {}, value: sum, metricName: `${name}_sum` });
    values.push({ labels: {}, value: total, metricName: `${name}_count` });
    return Promise.resolve({ name, help, type: 'histogram', values, aggregator: 'sum' });
  };
  return Object.assign(histogram, { get, getForPromString: get });
}

/** Choice: as long as a slice of a management call. */
const TURN_MS = 0.3;

/** Returns the text of all metrics, built in several turns of the event loop: decisions do not wait for a scrape. */
async function textOf(registry: Registry): Promise<string> {
  const parts: string[] = [];
  let from = performance.now();
  for (const { name } of registry.getMetricsAsArray()) {
    parts.push(await registry.getSingleMetricAsString(name));
    if (performance.now() - from < TURN_MS) continue;
    await nextTurn();
    from = performance.now();
  }
  return `${parts.join('\n\n')}\n`;
}
