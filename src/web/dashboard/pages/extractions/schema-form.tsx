import type { JSX } from 'preact';
import { Field, Select, Switch } from '../../components/fields.tsx';
import { asWords } from '../../format.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import type { FormField, Property, Typed } from './schema-fields.ts';

/** A form for the input of an operation, or for a delivery, made from its JSON Schema. */

export function SchemaForm({
  fields,
  typed,
  errors,
  onTyped,
}: {
  readonly fields: readonly FormField[];
  readonly typed: Typed;
  /** Messages by the name of their field. */
  readonly errors: ReadonlyMap<string, string>;
  readonly onTyped: (typed: Typed) => void;
}): JSX.Element {
  return (
    <>
      {fields.map((field) => (
        <OneField
          key={field.name}
          field={field}
          value={typed[field.name] ?? ''}
          error={errors.get(field.name)}
          onValue={(value) => onTyped({ ...typed, [field.name]: value })}
        />
      ))}
    </>
  );
}

function OneField({
  field,
  value,
  error,
  onValue,
}: {
  readonly field: FormField;
  readonly value: string;
  readonly error: string | undefined;
  readonly onValue: (value: string) => void;
}): JSX.Element {
  const { name, kind, isRequired, isSecret, hint, choices, property } = field;
  const label = `${cutText(visibleText(asWords(name)), 60)}${isRequired ? '' : ' (optional)'}`;
  if (kind === 'flag')
    return (
      <div class="field">
        <Switch label={label} isOn={value === 'true'} onChange={(isOn) => onValue(isOn ? 'true' : '')} />
        {hint !== '' && <p class="field-hint">{hint}</p>}
      </div>
    );
  if (kind === 'choice')
    return (
      <Select
        label={label}
        value={value}
        onValue={onValue}
        error={error}
        hint={hint}
        choices={[
          ...(isRequired && value !== '' ? [] : [{ value: '', title: '–' }]),
          ...choices.map((title) => ({ value: title, title: cutText(visibleText(title), 60) })),
        ]}
      />
    );
  const text = { label, value, onValue, error, spellcheck: false, required: isRequired } as const;
  if (kind === 'lines') return <Field {...text} rows={3} hint={`${hint} One a line.`} />;
  if (kind === 'json') return <Field {...text} rows={3} hint={`${hint} As JSON.`} />;
  const type = isSecret ? 'password' : kind === 'whole' ? 'number' : 'text';
  const autoComplete = isSecret ? { autoComplete: 'off' } : {};
  return <Field {...text} {...autoComplete} hint={hint} type={type} {...boundsOf(property)} />;
}

function boundsOf({ minimum, maximum, maxLength }: Property): { min?: number; max?: number; maxLength?: number } {
  return {
    ...(typeof minimum === 'number' ? { min: minimum } : {}),
    ...(typeof maximum === 'number' ? { max: maximum } : {}),
    ...(typeof maxLength === 'number' ? { maxLength } : {}),
  };
}
