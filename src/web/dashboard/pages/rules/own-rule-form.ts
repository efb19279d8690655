import type { Decision } from '../../../../contract/vocabulary.ts';
import type { OwnRuleBody, OwnRuleRow } from '../../../../contract/wire-types.ts';
import { countOf, DECISION_WORDS, formatCount, formatPercent } from '../../format.ts';
import type { ConditionCheck } from './condition-check.ts';

/** Values of the fields in the editor of a rule. */
export interface OwnRuleForm {
  readonly code: string;
  readonly when: string;
  /** `weight`, or a decision. */
  readonly effect: string;
  readonly weight: string;
  readonly eventTypes: string;
  readonly note: string;
  /** Unix seconds; null for ever. */
  readonly expiresAt: number | null;
}

export const NEW_RULE: OwnRuleForm = {
  code: 'own_',
  when: '',
  effect: 'REVIEW',
  weight: '0.4',
  eventTypes: '',
  note: '',
  expiresAt: null,
};

const CODE = /^own_[a-z0-9_]{1,40}$/;

export function toForm(rule: OwnRuleBody): OwnRuleForm {
  return {
    code: rule.code,
    when: rule.when,
    effect: rule.decision ?? 'weight',
    weight: String(rule.weight ?? NEW_RULE.weight),
    eventTypes: (rule.event_types ?? []).join(', '),
    note: rule.note,
    expiresAt: rule.expires_at,
  };
}

/** Returns the body of `PUT /v1/rules/{code}`. */
export function toBody(form: OwnRuleForm, mode: OwnRuleBody['mode']): Readonly<Record<string, unknown>> {
  return {
    when: form.when,
    ...(form.effect === 'weight' ? { weight: Number(form.weight) } : { decision: form.effect }),
    mode,
    event_types: typesOfForm(form),
    note: form.note,
    expires_at: form.expiresAt,
  };
}

/** Null for all. */
export function typesOfForm({ eventTypes }: OwnRuleForm): readonly string[] | null {
  const types = eventTypes
    .split(',')
    .map((type) => type.trim())
    .filter((type) => type !== '');
  return types.length === 0 ? null : types;
}

/** Equal for rules that fire on the same decisions. */
export function conditionOf(form: OwnRuleForm): string {
  const { when, event_types: types } = toBody(form, 'enforce');
  return JSON.stringify([form.code, when, types]);
}

/** Equal for rules that have the same effect on the same decisions. */
export function behaviourOf(form: OwnRuleForm): string {
  const { weight = null, decision = null } = toBody(form, 'enforce');
  return JSON.stringify([conditionOf(form), weight, decision]);
}

/** Returns the rules of the API as they would be with this one enforced. Those that do not run are left out. */
export function rulesToTry(form: OwnRuleForm, rules: readonly OwnRuleRow[]): readonly object[] {
  const others = rules.filter(
    ({ code, source, shadowed, errors }) => source === 'api' && !shadowed && errors.length === 0 && code !== form.code,
  );
  return [
    ...others.map((rule) => ({ code: rule.code, ...toBody(toForm(rule), rule.mode) })),
    { code: form.code, ...toBody(form, 'enforce') },
  ];
}

/** Returns what is wrong with the code; undefined for a valid one and while nothing but its beginning is written. */
export function codeFault(code: string): string | undefined {
  if (code === NEW_RULE.code || CODE.test(code)) return undefined;
  return 'own_ and 1 to 40 lower-case letters, digits or _';
}

/** Returns why the rule can be neither tried nor saved, as a sentence; null if it can. */
export function whyNotReady({ code, when, effect, weight }: OwnRuleForm, check: ConditionCheck): string | null {
  const missing = [CODE.test(code) ? '' : 'a code', when.trim() === '' ? 'a condition' : ''].filter(Boolean);
  if (missing.length > 0) return `The rule needs ${missing.join(' and ')} first.`;
  const share = Number(weight);
  if (effect === 'weight' && !(weight.trim() !== '' && share >= 0 && share <= 1))
    return 'The weight must be from 0 to 1.';
  if (check.kind === 'checking') return 'The condition is being checked.';
  if (check.kind !== 'faults') return null;
  const { line = 1, column = 1 } = check.errors[0] ?? {};
  const place = `line ${line}, column ${column}`;
  return check.errors.length > 1
    ? `The condition has ${check.errors.length} errors, the first in ${place}.`
    : `The condition has an error in ${place}.`;
}

/** `at least Review`, `weight 0.4`. */
export function effectWords({ weight, decision }: Pick<OwnRuleBody, 'weight' | 'decision'>): string {
  return decision === null ? `weight ${weight ?? 0}` : decisionWords(decision);
}

/** `it fired on 61 of 300 decisions (20 %), and 3 of 4,000 were predicted (0.08 %).` */
export function tripWords({ tripped, predicted }: Pick<OwnRuleBody, 'tripped' | 'predicted'>): string {
  const expected = predicted === null ? '' : `, and ${shareWords(predicted)} were predicted`;
  return tripped === null ? '' : `it fired on ${shareWords(tripped)}${expected}.`;
}

/** How a rule that was set back acts again. */
export function enforceAgainWords({ source }: Pick<OwnRuleBody, 'source'>): string {
  return source === 'policy'
    ? 'It is enforced again when the policy file changes.'
    : 'If that is what you want, press Enforce: what it did since is then its prediction.';
}

/** Choice: percentages have one decimal. */
const SHARE_SHOWN_MIN = 0.001;

export function shareWords({ touched, decisions }: NonNullable<OwnRuleBody['predicted']>): string {
  const share = decisions === 0 ? 0 : touched / decisions;
  const percent = share > 0 && share < SHARE_SHOWN_MIN ? 'under 0.1 %' : formatPercent(share);
  return `${formatCount(touched)} of ${countOf(decisions, 'decision')} (${percent})`;
}

export function decisionWords(decision: Decision): string {
  return decision === 'ALLOW' ? 'Allow, except lists' : `at least ${DECISION_WORDS[decision]}`;
}
