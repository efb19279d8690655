/**
 * Marks what a stored feature row was made under, among the contributions of a record, as a rule that was only observed. It is no reason:
 * no response and no statistic has it.
 */
export const LEARNING_CODE = 'learning_row';

/** What learning has to know of a stored feature row besides its values. */
export interface LearningNote {
  /** Share of such decisions whose row is kept, above 0 to 1: below 1 the row is one of a sample. */
  readonly rate: number;
  readonly policyVersion: string;
  /** What the active model found; null if none ran. */
  readonly model: { readonly version: string; readonly probability: number } | null;
}

/** Choice: the bounds of both versions in their files. */
const VERSION_CHARACTERS_MAX = 64;
const SEPARATOR = '\t';
const NONE = '-';

/** Returns the note, some 50 bytes of a record, as a contribution that is stored. */
export function learningContribution({ rate, policyVersion, model }: LearningNote): {
  readonly rule: { readonly code: string };
  readonly weight: number;
  readonly evidence: string;
  readonly isObserved: true;
} {
  const found = model === null ? [NONE, ''] : [model.probability.toFixed(4), versionText(model.version)];
  const evidence = [String(rate), versionText(policyVersion), ...found].join(SEPARATOR);
  return { rule: { code: LEARNING_CODE }, weight: 0, evidence, isObserved: true };
}

/** Returns the note of a stored contribution; null if it is no such. */
export function learningNoteOf(code: string, evidence: string): LearningNote | null {
  if (code !== LEARNING_CODE) return null;
  const [rate = '', policyVersion = '', probability = NONE, version = ''] = evidence.split(SEPARATOR);
  const model = probability === NONE ? null : { version, probability: Number(probability) };
  return { rate: Number(rate), policyVersion, model };
}

function versionText(version: string): string {
  return version.slice(0, VERSION_CHARACTERS_MAX).replaceAll(SEPARATOR, ' ');
}
