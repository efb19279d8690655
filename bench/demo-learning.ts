import { parseArgs } from 'node:util';
import { computeReport, fractionOf } from './detect/report.ts';
import { activeModel, judgeWeek, type TrainedModel, trainOn } from './learning/judge.ts';
import { type PlayedEvent, type PlayedWeek, playWeek, type WeekParts } from './learning/play-week.ts';
import { loadPackages } from './micro/geo.ts';
import { type Gate, type KnownTruth, ModelComparison, promotionGates } from '../src/history/model-comparison.ts';
import { helpIfAsked } from '../scripts/usage.ts';

/** Plays three simulated weeks: a model learns from the first, runs beside the rules in the second, and decides with them in the third. */
helpIfAsked(`
demo:learning [--scale <share>] [--json]

  --scale <share>  multiple of 30,000 people and 28,000 attack sessions a week, .01 to 1; default .15
  --json           prints one JSON object`);

/** Choice: weeks that the figures of docs/models.md do not use. */
const SEEDS = { train: 201, shadow: 202, active: 203 } as const;
const PRIOR = 0.01;
const BUDGET = 0.002;
/** Choice: every feature row is kept, since the demo is too small for a sample. */
const ALLOW_RATE = 1;
/** Source: contract, 6.2: the weight of a policy that sets none, and the largest one. */
const WEIGHTS = [0.44, 0.7] as const;
const WEEK_MS = 7 * 86_400_000;
/** As `models train`. */
const FRAUD_SESSIONS_ACTIVE_MIN = 500;

const { values } = parseArgs({
  options: { scale: { type: 'string', default: '.15' }, json: { type: 'boolean', default: false } },
});
const scale = Number(values.scale);
if (!(scale >= 0.01 && scale <= 1)) {
  process.stderr.write('demo:learning: --scale must be from .01 to 1\n');
  process.exit(2);
}

interface Figures {
  readonly name: string;
  /** Shares of sessions, 0 to 1. */
  readonly caught: number;
  readonly alarms: number;
  readonly ordinaryAlarms: number;
}

function say(text: string): void {
  if (!values.json) console.log(text);
}

await main();

async function main(): Promise<void> {
  const startedMs = performance.now();
  const geo = await loadPackages();
  if (geo.city.kind !== 'ready') throw new Error('the location database package is not installed');
  const play = (seed: number, more: Partial<WeekParts> = {}): Promise<PlayedWeek> =>
    playWeek({ geo, scale, allowRate: ALLOW_RATE, weight: WEIGHTS[0], seed, ...more });

  say('Week 1. The rules decide alone, and each decision keeps its facts.');
  const first = await play(SEEDS.train);
  const known = knownSessions(first.events);
  say(`  ${count(first.events.length)} decisions. Afterwards the shops know what some of them were:`);
  say(
    `  ${count(known.fraud)} fraud and ${count(known.honest)} honest sessions, from chargebacks, owners of taken accounts and reviews.`,
  );

  say('\nA model learns from them (gatehouse models train --budget 0.2%).');
  const model = trainOn(first.events, { prior: PRIOR, budget: BUDGET, allowRate: ALLOW_RATE });
  say(`  It counts from a probability of ${model.threshold.toFixed(3)} on.`);

  say('\nWeek 2. It runs beside the rules and decides nothing (models shadow, models compare).');
  const second = await play(SEEDS.shadow);
  const { added } = judgeWeek(second.events, model, second.policies, WEIGHTS[0]);
  const gates = compareShadow(second.events, new Set(added), model);
  for (const { name, holds, detail } of gates) say(`  ${holds ? 'holds' : 'fails'}  ${name}: ${detail}`);
  const allHold = gates.every(({ holds }) => holds);
  say(
    allHold
      ? '  Every gate holds: models promote makes it active.'
      : '  Not every gate holds: promoted with --yes, to show what it does.',
  );

  say('\nWeek 3. The same visitors come once for each line of the table. Only here the truth is known.');
  const rules = await play(SEEDS.active);
  const table = [figuresOf('rules alone', rules)];
  for (const weight of WEIGHTS)
    table.push(
      figuresOf(`with the model, weight ${weight}`, await play(SEEDS.active, { weight, model: activeModel(model) })),
    );
  print(table, { known, model, gates, seconds: (performance.now() - startedMs) / 1000 });
}

/** What the customers know of a week, by sessions. */
function knownSessions(events: readonly PlayedEvent[]): { readonly fraud: number; readonly honest: number } {
  const sessionsOf = (label: 'fraud' | 'legitimate'): number =>
    new Set(events.filter(({ row }) => row.label === label).map(({ row }) => row.session)).size;
  return { fraud: sessionsOf('fraud'), honest: sessionsOf('legitimate') };
}

/** The gates of a promotion after a week in the shadow, by the labels that customers have. */
function compareShadow(
  events: readonly PlayedEvent[],
  added: ReadonlySet<PlayedEvent>,
  { fraudSessions }: TrainedModel,
): readonly Gate[] {
  const comparison = new ModelComparison();
  for (const one of events) {
    const challenger = added.has(one) ? 'SOFT_CHALLENGE' : one.decision;
    const session = one.row.session ?? one.requestId;
    comparison.add({ session, active: one.decision, challenger, truth: truthOf(one) });
  }
  const isShadowOnly = fraudSessions < FRAUD_SESSIONS_ACTIVE_MIN;
  return promotionGates(comparison.result(), { shadowMs: WEEK_MS, isShadowOnly });
}

function truthOf({ row: { label, isReviewed, hasPassed } }: PlayedEvent): KnownTruth | null {
  if (label !== null) return { isFraud: label === 'fraud', source: isReviewed ? 'review' : 'label' };
  return hasPassed === null ? null : { isFraud: !hasPassed, source: 'challenge' };
}

function figuresOf(name: string, { tally }: PlayedWeek): Figures {
  const { meanChallenged, honest, ordinary } = computeReport([tally]);
  return {
    name,
    caught: meanChallenged,
    alarms: fractionOf(honest.sessions),
    ordinaryAlarms: fractionOf(ordinary.sessions),
  };
}

function print(
  table: readonly Figures[],
  facts: {
    readonly known: { readonly fraud: number; readonly honest: number };
    readonly model: TrainedModel;
    readonly gates: readonly Gate[];
    readonly seconds: number;
  },
): void {
  const { known, model, gates, seconds } = facts;
  if (values.json) {
    const { rows, threshold } = model;
    console.log(JSON.stringify({ scale, rows, known, threshold, gates, table, seconds: Math.round(seconds) }));
    return;
  }
  console.log(
    `  ${''.padEnd(28)}${'attacks stopped'.padStart(16)}${'honest stopped'.padStart(16)}${'… ordinary ones'.padStart(16)}`,
  );
  for (const { name, caught, alarms, ordinaryAlarms } of table)
    console.log(`  ${name.padEnd(28)}${percent(caught, 1)}${percent(alarms, 2)}${percent(ordinaryAlarms, 2)}`);
  console.log(`
Attacks: the mean over their kinds. Stopped: challenged, sent to review or blocked at least once in a session.
A model adds what it was shown and nothing else: the labels decide. The traffic is made up; on yours, models compare has the figures.
${seconds.toFixed(0)} s. Next: docs/models.md, "From nothing to a promoted model".`);
}

function percent(share: number, digits: number): string {
  return `${(share * 100).toFixed(digits)} %`.padStart(16);
}

function count(n: number): string {
  return n.toLocaleString('en');
}
