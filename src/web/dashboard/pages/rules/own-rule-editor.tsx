import type { JSX } from 'preact';
import type { FactRow } from '../../../../contract/wire-types.ts';
import { Field, Select } from '../../components/fields.tsx';
import { Time } from '../../components/time.tsx';
import { DECISION_ORDER } from '../../format.ts';
import { ConditionField } from './condition-field.tsx';
import { codeFault, decisionWords, type OwnRuleForm } from './own-rule-form.ts';
import type { ConditionCheck } from './condition-check.ts';

const EFFECTS = [
  ...[...DECISION_ORDER].reverse().map((value) => ({ value, title: decisionWords(value) })),
  { value: 'weight', title: 'a weight in the score' },
];

/** The fields of a rule of the customer's own. The condition is checked while it is written. */
export function OwnRuleEditor({
  form,
  onForm,
  isNew,
  isWritable,
  facts,
  check,
}: {
  readonly form: OwnRuleForm;
  readonly onForm: (form: OwnRuleForm) => void;
  readonly isNew: boolean;
  readonly isWritable: boolean;
  readonly facts: readonly FactRow[];
  readonly check: ConditionCheck;
}): JSX.Element {
  const change = (fields: Partial<OwnRuleForm>): void => onForm({ ...form, ...fields });
  return (
    <>
      {isNew && (
        <Field
          label="Code"
          value={form.code}
          onValue={(code) => change({ code })}
          maxLength={44}
          spellcheck={false}
          autoComplete="off"
          required
          error={codeFault(form.code)}
          hint="It becomes a reason of decisions. It cannot be changed later."
        />
      )}
      <ConditionField
        value={form.when}
        onValue={(when) => change({ when })}
        facts={facts}
        check={check}
        disabled={!isWritable}
      />
      <Select
        label="Effect while it fires"
        value={form.effect}
        onValue={(effect) => change({ effect })}
        choices={EFFECTS}
        disabled={!isWritable}
      />
      {form.effect === 'weight' && (
        <Field
          label="Weight"
          type="number"
          min={0}
          max={1}
          step={0.05}
          value={form.weight}
          onValue={(weight) => change({ weight })}
          disabled={!isWritable}
          hint="0 to 1: the probability of fraud that the rule alone means."
        />
      )}
      <Field
        label="Event types"
        value={form.eventTypes}
        onValue={(eventTypes) => change({ eventTypes })}
        placeholder="all"
        disabled={!isWritable}
        hint="Separated by commas, such as payment, checkout. Empty for all."
      />
      <Field
        label="Note"
        value={form.note}
        onValue={(note) => change({ note })}
        maxLength={200}
        disabled={!isWritable}
        hint="Optional: who agreed to it, and why."
      />
      {form.expiresAt !== null && (
        <p class="muted small">
          It does nothing from <Time at={form.expiresAt} /> on.
        </p>
      )}
    </>
  );
}
