import type { JSX } from 'preact';
import type { WebhookRow } from '../../../../contract/wire-types.ts';
import { Checks } from '../../components/checks.tsx';
import { Field } from '../../components/fields.tsx';

/** What the form says about extra headers. Stored values are never shown, so an empty text leaves them as they are. */
export interface GivenHeaders {
  /** One header a line, `Name: value`. */
  readonly text: string;
  readonly isRemoved: boolean;
}

/** Returns the member of the body; none leaves stored headers as they are. */
export function headersIn({ text, isRemoved }: GivenHeaders): { readonly headers?: Record<string, string> | null } {
  if (isRemoved) return { headers: null };
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) return {};
  const entries = lines.map((line): readonly [string, string] => {
    const colon = line.indexOf(':');
    return colon < 0 ? [line.trim(), ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
  return { headers: Object.fromEntries(entries) };
}

export function HeadersField({
  webhook,
  value,
  onValue,
}: {
  readonly webhook: WebhookRow | null;
  readonly value: GivenHeaders;
  readonly onValue: (value: GivenHeaders) => void;
}): JSX.Element {
  const stored = Object.keys(webhook?.headers ?? {});
  return (
    <>
      <Field
        label="Headers"
        value={value.text}
        onValue={(text) => onValue({ ...value, text })}
        placeholder="Authorization: Bearer …"
        rows={2}
        spellcheck={false}
        disabled={value.isRemoved}
        hint={
          stored.length === 0
            ? 'Optional. One a line, sent with each delivery. Values are stored encrypted and never shown again.'
            : `Stored: ${stored.join(', ')}. Empty keeps them; what you write replaces all. Another host clears them.`
        }
      />
      {stored.length > 0 && (
        <Checks
          legend="Stored headers"
          choices={[{ value: 'remove', title: 'Remove them' }]}
          chosen={value.isRemoved ? ['remove'] : []}
          onChosen={(chosen) => onValue({ ...value, isRemoved: chosen.length > 0 })}
        />
      )}
    </>
  );
}
