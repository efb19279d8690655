import { writeFileSync } from 'node:fs';
import { Random } from '../scripts/traffic/random.ts';
import { computeReport, fractionOf } from './detect/report.ts';
import type { Tally } from './detect/tally.ts';
import { FAMILIES, familyOf } from './learning/families.ts';
import { activeModel, judgeWeek, type TrainedModel, trainOn } from './learning/judge.ts';
import { readLearningOptions } from './learning/options.ts';
import { type PlayedEvent, playWeek } from './learning/play-week.ts';
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
  const week = { geo, scale, weight: WEIGHTS[0] };
  const parts = { prior, budget, allowRate: ALLOW_RATE };
  note(`plays the week to train on, seed ${train}`);
  const trained = await playWeek({ ...week, seed: train, allowRate: ALLOW_RATE });
  const model = trainOn(trained.events, parts);
  note(`trained on ${model.rows} rows, ${model.fraudSessions} fraud sessions; threshold ${model.threshold.toFixed(4)}`);
  note(`plays the week to test on, seed ${test}`);
  const tested = await playWeek({ ...week, seed: test, allowRate: 1 });
  const rules = judgedArm('rules alone; the model is silent or in the shadow', tested.tally, tested.events);
  for (const weight of WEIGHTS) {
    note(`plays it with the model at weight ${weight}`);
    const live = await playWeek({ ...week, seed: test, allowRate: 0, weight, model: activeModel(model) });
    arms.push(judgedArm(`model active, weight ${weight}`, live.tally, live.events));
    console.log(`honest sessions blocked by the model alone, weight ${weight}: ${live.blockedByModelAlone}`);
    const replayed = judgeWeek(tested.events, model, tested.policies, weight);
    arms.push(judgedArm(`the same from stored rows, weight ${weight}`, replayed.tally, tested.events));
  }
  arms.unshift(rules);
  arms.push(...(await reviewArms(trained.events, model, tested)));
  const everything = trainOn(tested.events.length === 0 ? [] : await labelledTruly({ ...week, seed: train }), {
    ...parts,
    allowRate: 1,
  });
  arms.push(offlineArm('true labels for every session, all rows', everything, tested));
  if (options.families) leaveFamiliesOut(trained.events, tested);
  print(shadow);
}

/** Retrains with sessions of the shadow week that somebody reviewed, and with none of them. */
async function reviewArms(
  events: readonly PlayedEvent[],
  model: TrainedModel,
  tested: Awaited<ReturnType<typeof playWeek>>,
): Promise<ArmFigures[]> {
  const { shadow, scale, prior, budget } = options;
  note(`plays the week in which sessions are reviewed, seed ${shadow}`);
  const geo = await loadPackages();
  const week = await playWeek({ geo, scale, seed: shadow, weight: WEIGHTS[0], allowRate: 1 });
  const kept = new Random(`kept ${shadow}`);
  /** Decisions whose row the product keeps. */
  const own = week.events.filter(({ decision }) => decision !== 'ALLOW' || kept.chance(ALLOW_RATE));
  const { added } = judgeWeek(week.events, model, week.policies, WEIGHTS[1]);
  const found: ArmFigures[] = [];
  const retrain = (name: string, chosen: readonly PlayedEvent[]): void => {
    const verdicts = new Map(chosen.map((one) => [one.row.session, one.event.session.isAttack]));
    const reviewed = withVerdicts([...new Set([...own, ...chosen])], verdicts);
    const again = trainOn([...events, ...reviewed], { prior, budget, allowRate: ALLOW_RATE });
    found.push(offlineArm(name, again, tested));
  };
  retrain('two weeks, nothing more reviewed', []);
  for (const count of REVIEWS) {
    retrain(`two weeks, ${count} sessions reviewed where the model disagrees`, pickSessions(added, count));
  }
  const random = week.events.filter(({ decision }) => decision === 'ALLOW' || decision === 'ALLOW_WATCH');
  retrain(`two weeks, ${REVIEWS.at(-1)} sessions reviewed at random`, pickSessions(random, REVIEWS.at(-1) ?? 0));
  return found;
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

function withVerdicts(
  events: readonly PlayedEvent[],
  verdicts: ReadonlyMap<string | null, boolean>,
): readonly PlayedEvent[] {
  return events.map((one) => {
    const isFraud = verdicts.get(one.row.session);
    return isFraud === undefined ? one : { ...one, row: { ...one.row, label: isFraud ? 'fraud' : 'legitimate' } };
  });
}

async function labelledTruly(week: Omit<Parameters<typeof playWeek>[0], 'allowRate'>): Promise<readonly PlayedEvent[]> {
  note('trains on the truth');
  const { events } = await playWeek({ ...week, allowRate: 1 });
  return events.map((one) => ({
    ...one,
    row: { ...one.row, label: one.event.session.isAttack ? 'fraud' : 'legitimate' },
  }));
}

/** Trains without a family of attacks, whose sessions never came or were never noticed, and tests on it. */
function leaveFamiliesOut(events: readonly PlayedEvent[], tested: Awaited<ReturnType<typeof playWeek>>): void {
  const { prior, budget } = options;
  for (const family of FAMILIES) {
    note(`trains without ${family}`);
    const others = events.filter(({ event }) => familyOf(event.session.kind) !== family);
    const model = trainOn(others, { prior, budget, allowRate: ALLOW_RATE });
    const judged = judgeWeek(tested.events, model, tested.policies, WEIGHTS[1]);
    families.push({ family, rules: catchOf(tested.tally, family), rulesAndModel: catchOf(judged.tally, family) });
  }
}

/** Returns the mean share of stopped sessions over the kinds of a family. */
function catchOf(tally: Tally, family: string): number {
  const kinds = computeReport([tally]).attackKinds.filter(({ kind }) => familyOf(kind) === family);
  return kinds.reduce((sum, { challenged }) => sum + fractionOf(challenged), 0) / kinds.length;
}

function offlineArm(name: string, model: TrainedModel, tested: Awaited<ReturnType<typeof playWeek>>): ArmFigures {
  const weight = WEIGHTS[1];
  const { tally } = judgeWeek(tested.events, model, tested.policies, weight);
  return judgedArm(`${name}, weight ${weight}`, tally, tested.events);
}

function judgedArm(name: string, tally: Tally, events: readonly PlayedEvent[]): ArmFigures {
  const { meanChallenged, honest, ordinary } = computeReport([tally]);
  const early = new Set<number>();
  for (const { event } of events) if (event.isFirstHours && !event.session.isAttack) early.add(event.session.id);
  const stopped = [...early].filter((id) => tally.sessions.get(id)?.isChallenged === true);
  return {
    name,
    catch: meanChallenged,
    honest: fractionOf(honest.sessions),
    ordinary: fractionOf(ordinary.sessions),
    firstHours: stopped.length / early.size,
  };
}

function print(shadow: number): void {
  const percent = (share: number, digits: number): string => `${(share * 100).toFixed(digits)} %`;
  console.log(
    `\n| seeds ${options.train}, ${shadow}, ${options.test} | catch | all honest / ordinary | first three hours |`,
  );
  console.log('| --- | --: | --: | --: |');
  for (const { name, catch: caught, honest, ordinary, firstHours } of arms) {
    const alarms = `${percent(honest, 2)} / ${percent(ordinary, 2)}`;
    console.log(`| ${name} | ${percent(caught, 1)} | ${alarms} | ${percent(firstHours, 2)} |`);
  }
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

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}
