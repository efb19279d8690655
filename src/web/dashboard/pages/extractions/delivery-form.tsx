import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { Select } from '../../components/fields.tsx';
import { fieldsOf, type FormField, toInput, type Typed } from './schema-fields.ts';
import { SchemaForm } from './schema-form.tsx';

/** Where the records of a job go. `sync` is missing: its response would keep the page waiting. */
const CHOICES = [
  { value: 'store', title: 'Stored here' },
  { value: 'webhook', title: 'Sent to a webhook, signed' },
  { value: 's3', title: 'Uploaded to S3 or a compatible store' },
  { value: 'http_put', title: 'Uploaded by HTTP PUT' },
] as const;

export type DeliveryKind = (typeof CHOICES)[number]['value'];

/** The choice and what is typed for each. Secrets are in it only until they are sent. */
export interface DeliveryFormState {
  readonly kind: DeliveryKind;
  readonly typed: Typed;
}

export const DELIVERY_START: DeliveryFormState = { kind: 'store', typed: {} };

export type DeliveryInput =
  | { readonly kind: 'delivery'; readonly delivery: Readonly<Record<string, unknown>> | null }
  | { readonly kind: 'fault'; readonly name: string; readonly message: string };

const FIELDS: Readonly<Record<DeliveryKind, readonly FormField[]>> = {
  store: [],
  webhook: fieldsOf(DELIVERY_SCHEMAS.webhook),
  s3: fieldsOf(DELIVERY_SCHEMAS.s3),
  http_put: fieldsOf(DELIVERY_SCHEMAS.http_put),
};

/** Returns the `delivery` of the request; null for the default. A secret that is missing is a fault of its field. */
export function toDelivery({ kind, typed }: DeliveryFormState): DeliveryInput {
  const fields = FIELDS[kind];
  const input = toInput(fields, typed);
  if (input.kind === 'fault') return input;
  const missing = fields.find(({ name, isRequired }) => isRequired && input.input[name] === undefined);
  if (missing !== undefined) return { kind: 'fault', name: missing.name, message: 'This is required.' };
  return { kind: 'delivery', delivery: bodyOf(kind, input.input) };
}

function bodyOf(
  kind: DeliveryKind,
  input: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | null {
  if (kind === 'store') return null;
  if (kind === 'webhook') return { type: 'webhook', ...input };
  return { type: 'destination', destination: { kind, ...input } };
}

/** The form's values without the secrets: they are sent once and then gone from the page. */
export function withoutSecrets({ kind, typed }: DeliveryFormState): DeliveryFormState {
  const secrets = new Set(FIELDS[kind].filter(({ isSecret }) => isSecret).map(({ name }) => name));
  return { kind, typed: Object.fromEntries(Object.entries(typed).filter(([name]) => !secrets.has(name))) };
}

/** Surrounds the name of a shell variable in a value: a character that nobody types. */
export const VARIABLE_MARK = '\uE000';

/** The same for a command that is shown: secrets are names of variables of the shell. */
export function withPlaceholders({ kind, typed }: DeliveryFormState): DeliveryFormState {
  const named = FIELDS[kind]
    .filter(({ isSecret, isRequired, name }) => isSecret && (isRequired || (typed[name] ?? '') !== ''))
    .map(({ name }) => [name, `${VARIABLE_MARK}${name.toUpperCase()}${VARIABLE_MARK}`]);
  return { kind, typed: { ...typed, ...Object.fromEntries(named) } };
}

export function DeliveryForm({
  state,
  errors,
  onState,
}: {
  readonly state: DeliveryFormState;
  /** Messages by the name of their field. */
  readonly errors: ReadonlyMap<string, string>;
  readonly onState: (state: DeliveryFormState) => void;
}): JSX.Element {
  const { kind, typed } = state;
  const fields = useMemo(() => FIELDS[kind], [kind]);
  return (
    <fieldset class="plain-fieldset stack">
      <legend class="field-label">Delivery</legend>
      <Select
        label="The records are"
        value={kind}
        // Fields of another delivery have other names, and its secrets must not stay.
        onValue={(value) =>
          onState({ kind: CHOICES.find((choice) => choice.value === value)?.value ?? 'store', typed: {} })
        }
        choices={CHOICES}
      />
      {fields.length > 0 && (
        <div class="columns">
          <SchemaForm
            fields={fields}
            typed={typed}
            errors={errors}
            onTyped={(next) => onState({ kind, typed: next })}
          />
        </div>
      )}
      {fields.some(({ isSecret }) => isSecret) && (
        <p class="muted small">
          Secrets are sent once, with the start, and then removed from this page. No call shows them.
        </p>
      )}
    </fieldset>
  );
}
