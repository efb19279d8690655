import { RULES } from '../risk/rules/rule-table.ts';
import { OWN_HINT } from '../risk/policy/own-rules.ts';
import type { ApiBody } from './api-access.ts';
import { timeText } from './text-table.ts';

/** Columns of the bar that stands for a score of 100. */
const BAR_COLUMNS = 40;

interface Contribution {
  readonly reason: string;
  readonly weight: number;
  readonly evidence: string;
  readonly counts?: boolean;
  readonly observed?: boolean;
  readonly decision?: string;
  readonly without?: { readonly score: number; readonly decision: string | null } | null;
}

/** The members of `GET /v1/decisions/{request_id}` that are shown. */
interface ExplainedDecision {
  readonly request_id: string;
  readonly decision: string;
  readonly would_be?: string;
  readonly score: number;
  readonly event_type: string;
  readonly occurred_at: number;
  readonly ip: string | null;
  readonly country: string | null;
  readonly path: string | null;
  readonly label: string | null;
  readonly overridden_by: string | null;
  readonly bands: Readonly<Record<string, number | null>> | null;
  readonly families: readonly { readonly family: string; readonly from: number; readonly to: number }[];
  readonly contributions: readonly Contribution[];
}

/** Returns an explained decision for people: who and when, how the score came about, and what each rule found. */
export function waterfallText(body: ApiBody): string {
  const decision = body as unknown as ExplainedDecision;
  const { contributions, families, bands } = decision;
  return [
    ...headLines(decision),
    '',
    ...(families.length === 0 ? ['No rule fired.'] : ['Score, one line for each family of rules:']),
    ...stepLines(families),
    ...(bands === null ? [] : ['', `Bands: ${bandsText(bands)}`]),
    ...(contributions.length === 0 ? [] : ['', 'Rules:']),
    ...contributions.flatMap(ruleLines),
    ...overrideLines(decision),
  ].join('\n');
}

function headLines(decision: ExplainedDecision): readonly string[] {
  const { would_be: wouldBe, event_type: eventType, occurred_at: at, ip, country, path, label } = decision;
  const observed = wouldBe === undefined ? '' : ` (observed; it would have been ${wouldBe})`;
  const subject = [ip, country, path].filter((part) => part !== null && part !== '').join('  ');
  return [
    `${decision.decision}${observed}, score ${decision.score.toFixed(1)}, ${eventType || 'no event type'}, ${timeText(at)}`,
    `${decision.request_id}${subject === '' ? '' : `  ${subject}`}`,
    ...(label === null ? [] : [`Labelled ${label}.`]),
  ];
}

function stepLines(families: ExplainedDecision['families']): readonly string[] {
  const width = Math.max(0, ...families.map(({ family }) => family.length));
  return families.map(({ family, from, to }) => {
    const before = Math.round((from / 100) * BAR_COLUMNS);
    const own = Math.max(1, Math.round((to / 100) * BAR_COLUMNS) - before);
    const bar = `${' '.repeat(before)}${'█'.repeat(own)}`.padEnd(BAR_COLUMNS);
    return `  ${family.padEnd(width)}  ${bar}  ${from.toFixed(1)} → ${to.toFixed(1)}`;
  });
}

function bandsText(bands: Readonly<Record<string, number | null>>): string {
  return Object.entries(bands)
    .flatMap(([name, from]) => (from === null ? [] : [`${name} from ${from}`]))
    .join(', ');
}

const HINT_OF: ReadonlyMap<string, string> = new Map(RULES.map(({ code, hint }) => [code, hint]));

function ruleLines(rule: Contribution): readonly string[] {
  const { reason, weight, evidence, counts, observed, decision, without } = rule;
  const hint = HINT_OF.get(reason) ?? (reason.startsWith('own_') ? OWN_HINT : '');
  const effect =
    observed === true ? 'observed only' : counts === false ? 'another rule of its family counts' : 'counts';
  const change =
    without === undefined || without === null
      ? ''
      : `; without it ${without.score.toFixed(1)}${without.decision === null ? '' : `, ${without.decision}`}`;
  return [
    `  ${reason}  weight ${weight.toFixed(2)}${decision === undefined ? '' : `, decides ${decision}`}, ${effect}${change}`,
    ...(hint === '' ? [] : [`    ${hint}`]),
    ...(evidence === '' ? [] : [`    found: ${evidence}`]),
  ];
}

const OVERRIDES_IN_WORDS: Readonly<Record<string, string>> = {
  list_block: 'An entry of the block list decided, whatever the score is.',
  list_allow: 'An entry of the allow list decided, whatever the score is.',
  missing_session_token: 'The request had no session token, so no rule ran.',
  test_input: 'A test input asked for the decision.',
};

function overrideLines({ overridden_by: override }: ExplainedDecision): readonly string[] {
  return override === null ? [] : ['', OVERRIDES_IN_WORDS[override] ?? `Decided by ${override}.`];
}
