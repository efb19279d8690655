import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button, Field } from '../../components/fields.tsx';
import { Section } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Text } from '../../components/text.tsx';
import { checkDelivery, type Checked } from './verify-delivery.ts';

/** Shows which signature of a pasted delivery matches and why the others do not. The secret stays in this component. */
export function VerifyBox(): JSX.Element {
  const [headers, setHeaders] = useState('');
  const [body, setBody] = useState('');
  const [secret, setSecret] = useState('');
  const [checked, setChecked] = useState<Checked | null>(null);
  const change =
    (set: (value: string) => void) =>
    (value: string): void => {
      set(value);
      setChecked(null);
    };
  const run = (): void => {
    checkDelivery({ headers, body, secret }, Math.floor(Date.now() / 1_000)).then(setChecked, () =>
      setChecked({ kind: 'unusable', why: 'This browser cannot compute signatures here: open the page over HTTPS.' }),
    );
  };
  return (
    <Section
      title="Verify a delivery"
      note="Computed in this browser. The secret is not sent, not stored, and gone when you leave."
    >
      <form
        class="stack"
        autoComplete="off"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <div class="columns">
          <Field
            label="Headers"
            rows={5}
            value={headers}
            onValue={change(setHeaders)}
            placeholder={'webhook-id: dlv_…\nwebhook-timestamp: 1795262400\nwebhook-signature: v1,…'}
            spellcheck={false}
          />
          <Field
            label="Raw body"
            rows={5}
            value={body}
            onValue={change(setBody)}
            placeholder="{…}"
            spellcheck={false}
          />
        </div>
        <Field
          label="Secret"
          type="password"
          value={secret}
          onValue={change(setSecret)}
          placeholder="whsec_…"
          autoComplete="off"
          spellcheck={false}
        />
        <div class="row">
          <Button type="submit" kind="primary">
            Verify
          </Button>
        </div>
      </form>
      <div role="status" class="verify-result">
        {checked !== null && <Result checked={checked} />}
      </div>
    </Section>
  );
}

function Result({ checked }: { readonly checked: Checked }): JSX.Element {
  if (checked.kind === 'unusable') return <StateMark tone="bad" word={checked.why} />;
  return (
    <ul class="stack-small padded">
      {checked.signatures.map(({ header, signature, fits, why }) => (
        <li key={`${header} ${signature}`}>
          <StateMark tone={fits ? 'good' : 'bad'} word={fits ? 'Matches' : 'Does not match'} />{' '}
          <code>
            {header}: <Text value={signature} charactersMax={24} />
          </code>
          <p class="muted">{why}</p>
        </li>
      ))}
      {checked.time !== null && <li class="muted">{checked.time}</li>}
    </ul>
  );
}
