import { writeFileSync } from 'node:fs';
import { Random } from '../scripts/traffic/random.ts';
import { isStop } from '../src/risk/decision.ts';
import { computeReport, fractionOf } from './detect/report.ts';
import type { Tally } from './detect/tally.ts';
import { FAMILIES, familyOf } from './learning/families.ts';
import { activeModel, judgeWeek, scoresOf, type TrainedModel, trainOn } from './learning/judge.ts';
import { readLearningOptions } from './learning/options.ts';
import { type PlayedEvent, type PlayedWeek, playWeek } from './learning/play-week.ts';
import { loadPackages } from './micro/geo.ts';
import { readOrExit } from './read-or-exit.ts';

/** Measures what a model adds to the rules. `--help` lists the options. */

/** Figures of one way of deciding the tested week, shares from 0 to 1. */
interface ArmFigures {
  readonly name: string;
  /** Mean over the kinds of attacks. */
  readonly catch: number;
  readonly honest: number;
  readonly ordinary: number;
  /** Honest sessions in the first three hours of their customer. */
  readonly firstHours: number;
}

const ALLOW_RATE = 0.05;
const WEIGHTS = [0.44, 0.7] as const;
const REVIEWS = [50, 100, 300] as const;

const options = readOrExit(readLearningOptions);
const arms: ArmFigures[] = [];
const families: { readonly family: string; readonly rules: number; readonly rulesAndModel: number }[] = [];
await main();

async function main(): Promise<void> {
  const { train, shadow, test, scale, prior, budget } = options;
  const geo = await loadPackages();
  if (geo.city.kind !== 'ready') throw new Error('the location database package is not installed');
  const week = { geo, scale, weight: WEIGHTS[0], allowRate: 1 };
  const parts = { prior, budget, allowRate: ALLOW_RATE };
  note(`plays the week to train on, seed ${train}`);
  const { events } = await playWeek({ ...week, seed: train });
  const own = keptRows(events, train);
  const model = trainOn(own, parts);
  note(`trained on ${model.rows} rows, ${model.fraudSessions} fraud sessions; threshold ${model.threshold.toFixed(4)}`);
  note(`plays the week to test on, seed ${test}`);
  const tested = await playWeek({ ...week, seed: test });
  arms.push(judgedArm('rules alone; the model is silent or in the shadow', tested.tally, tested.events));
  for (const weight of WEIGHTS) {
    note(`plays it with the model at weight ${weight}`);
    const live = await playWeek({ ...week, seed: test, allowRate: 0, weight, model: activeModel(model) });
    arms.push(judgedArm(`model active, weight ${weight}`, live.tally, live.events));
    console.log(`honest sessions blocked by the model alone, weight ${weight}: ${live.blockedByModelAlone}`);
    arms.push(offlineArm('the same from stored rows', model, tested, weight));
    const exact = { ...model, threshold: thresholdFor(tested, model, budget) };
    arms.push(offlineArm(`threshold ${exact.threshold.toFixed(3)}, chosen on the tested week`, exact, tested, weight));
  }
  arms.push(...(await reviewArms(own, model, tested)));
  note('trains on the truth');
  const truth = events.map((one) => withLabel(one, one.event.session.isAttack));
  const best = trainOn(truth, { ...parts, allowRate: 1 });
  arms.push(offlineArm('true labels for every session, all rows', best, tested));
  if (options.families) leaveFamiliesOut(own, tested);
  print(shadow);
}

/** Returns the decisions whose row the product keeps for learning: all `ALLOW` of a session, or none. */
function keptRows(events: readonly PlayedEvent[], seed: number): readonly PlayedEvent[] {
  const random = new Random(`kept ${seed}`);
  const isDrawn = new Map<string, boolean>();
  return events.filter(({ decision, row: { session, requestId } }) => {
    if (decision !== 'ALLOW') return true;
    const key = session ?? requestId;
    const drawn = isDrawn.get(key) ?? random.chance(ALLOW_RATE);
    isDrawn.set(key, drawn);
    return drawn;
  });
}

function withLabel(one: PlayedEvent, isFraud: boolean): PlayedEvent {
  return { ...one, row: { ...one.row, label: isFraud ? 'fraud' : 'legitimate' } };
}

/** Returns the lowest threshold that the budget allows on the tested week, which no customer knows: what the choice of it costs. */
function thresholdFor({ events }: PlayedWeek, model: TrainedModel, budget: number): number {
  const tops = new Map<number, { top: number; isPassed: boolean }>();
  const scores = scoresOf(events, model);
  for (const [at, { event, decision }] of events.entries()) {
    if (event.session.isAttack) continue;
    const session = tops.get(event.session.id) ?? { top: 0, isPassed: true };
    session.top = Math.max(session.top, scores[at] ?? 0);
    session.isPassed &&= !isStop(decision);
    tops.set(event.session.id, session);
  }
  const passed = [...tops.values()].filter(({ isPassed }) => isPassed).map(({ top }) => top);
  return passed.sort((a, b) => b - a)[Math.floor(budget * tops.size)] ?? 1;
}

/** Retrains with sessions of the shadow week that somebody reviewed, and with none of them. */
async function reviewArms(
  events: readonly PlayedEvent[],
  model: TrainedModel,
  tested: PlayedWeek,
): Promise<readonly ArmFigures[]> {
  const { shadow, scale, prior, budget } = options;
  note(`plays the week in which sessions are reviewed, seed ${shadow}`);
  const geo = await loadPackages();
  const week = await playWeek({ geo, scale, seed: shadow, weight: WEIGHTS[0], allowRate: 1 });
  const own = keptRows(week.events, shadow);
  // The shadow sees a budget twice as large, so that there is something to review.
  const wide = { ...model, threshold: thresholdFor(week, model, 2 * budget) };
  const { added } = judgeWeek(week.events, wide, week.policies, WEIGHTS[1]);
  const passed = week.events.filter(({ decision }) => !isStop(decision));
  const retrain = (name: string, chosen: readonly PlayedEvent[]): ArmFigures => {
    const verdicts = new Map(chosen.map((one) => [one.row.session, one.event.session.isAttack]));
    const rows = [...new Set([...own, ...chosen])].map((one) => {
      const isFraud = verdicts.get(one.row.session);
      return isFraud === undefined ? one : withLabel(one, isFraud);
    });
    const again = trainOn([...events, ...rows], { prior, budget, allowRate: ALLOW_RATE });
    const exact = { ...again, threshold: thresholdFor(tested, again, budget) };
    return offlineArm(`${name}, threshold chosen on the tested week`, exact, tested);
  };
  const most = REVIEWS[REVIEWS.length - 1] ?? 0;
  return [
    retrain('two weeks', []),
    ...REVIEWS.map((count) =>
      retrain(`two weeks, ${count} reviews where the model disagrees`, pickSessions(added, count)),
    ),
    retrain(`two weeks, ${most} reviews at random`, pickSessions(passed, most)),
  ];
}

/** Picks one event of each of `count` sessions. */
function pickSessions(events: readonly PlayedEvent[], count: number): readonly PlayedEvent[] {
  const bySession = new Map(events.map((one) => [one.row.session, one]));
  const all = [...bySession.values()];
  const random = new Random(`reviews ${options.shadow}`);
  const picked: PlayedEvent[] = [];
  while (picked.length < count && all.length > 0) picked.push(...all.splice(random.below(all.length), 1));
  return picked;
}

/** Trains without a family of attacks, whose sessions never came or were never noticed, and tests on it. */
function leaveFamiliesOut(events: readonly PlayedEvent[], tested: PlayedWeek): void {
  const { prior, budget } = options;
  for (const family of FAMILIES) {
    note(`trains without ${family}`);
    const others = events.filter(({ event }) => familyOf(event.session.kind) !== family);
    const model = trainOn(others, { prior, budget, allowRate: ALLOW_RATE });
    const exact = { ...model, threshold: thresholdFor(tested, model, budget) };
    const judged = judgeWeek(tested.events, exact, tested.policies, WEIGHTS[1]);
    families.push({ family, rules: catchOf(tested.tally, family), rulesAndModel: catchOf(judged.tally, family) });
  }
}

/** Returns the mean share of stopped sessions over the kinds of a family. */
function catchOf(tally: Tally, family: string): number {
  const kinds = computeReport([tally]).attackKinds.filter(({ kind }) => familyOf(kind) === family);
  return kinds.reduce((sum, { challenged }) => sum + fractionOf(challenged), 0) / kinds.length;
}

function offlineArm(name: string, model: TrainedModel, tested: PlayedWeek, weight: number = WEIGHTS[1]): ArmFigures {
  const { tally } = judgeWeek(tested.events, model, tested.policies, weight);
  return judgedArm(`${name}, weight ${weight}`, tally, tested.events);
}

function judgedArm(name: string, tally: Tally, events: readonly PlayedEvent[]): ArmFigures {
  const { meanChallenged, honest, ordinary } = computeReport([tally]);
  const early = new Set<number>();
  for (const { event } of events) if (event.isFirstHours && !event.session.isAttack) early.add(event.session.id);
  const stopped = [...early].filter((id) => tally.sessions.get(id)?.isChallenged === true);
  const figures = {
    name,
    catch: meanChallenged,
    honest: fractionOf(honest.sessions),
    ordinary: fractionOf(ordinary.sessions),
    firstHours: stopped.length / early.size,
  };
  // A long run that is stopped has shown what it measured so far.
  note(lineOf(figures));
  return figures;
}

function lineOf({ name, catch: caught, honest, ordinary, firstHours }: ArmFigures): string {
  const alarms = `${percent(honest, 2)} / ${percent(ordinary, 2)}`;
  return `| ${name} | ${percent(caught, 1)} | ${alarms} | ${percent(firstHours, 2)} |`;
}

function print(shadow: number): void {
  console.log(
    `\n| seeds ${options.train}, ${shadow}, ${options.test} | catch | all honest / ordinary | first three hours |`,
  );
  console.log('| --- | --: | --: | --: |');
  for (const figures of arms) console.log(lineOf(figures));
  if (families.length > 0) {
    console.log('\n| family left out of training | rules | rules and model |');
    console.log('| --- | --: | --: |');
    for (const { family, rules, rulesAndModel } of families)
      console.log(`| ${family} | ${percent(rules, 1)} | ${percent(rulesAndModel, 1)} |`);
  }
  if (options.json !== undefined) {
    const written = { at: new Date().toISOString(), node: process.version, options, arms, families };
    writeFileSync(options.json, `${JSON.stringify(written, null, 1)}\n`);
  }
}

function percent(share: number, digits: number): string {
  return `${(share * 100).toFixed(digits)} %`;
}

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
