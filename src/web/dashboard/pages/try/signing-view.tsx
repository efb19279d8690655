import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { CodeBlock } from '../../components/code-block.tsx';
import { Button, Field } from '../../components/fields.tsx';
import { Section } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Text } from '../../components/text.tsx';
import { checkSignature, type Finding, maskKey, type Signed, signTriedRequest } from './request-signing.ts';

const LINES = [
  { name: 'Method', why: 'in upper case' },
  { name: 'Path', why: 'as it is sent, with its query' },
  { name: 'X-SVC-Ts', why: 'Unix seconds, at most 300 s from the server’s clock' },
  { name: 'Body hash', why: 'SHA-256 of the bytes that are sent, lower-case hex' },
  { name: 'X-SVC-Rid', why: 'an id that this key never used before' },
] as const;

/** Time and id of the request that is shown: sending makes its own. */
interface Stamp {
  readonly timestamp: string;
  readonly requestId: string;
}

function newStamp(): Stamp {
  return { timestamp: String(Math.floor(Date.now() / 1_000)), requestId: crypto.randomUUID() };
}

/** The signing string line by line, the headers that follow from it, and a check of somebody's own signature. */
export function SigningView({ apiKey, body }: { readonly apiKey: string; readonly body: string }): JSX.Element {
  const [stamp, setStamp] = useState(newStamp);
  const [signed, setSigned] = useState<Signed | null>(null);
  const { timestamp, requestId } = stamp;
  useEffect(() => {
    let isCurrent = true;
    signTriedRequest(apiKey === '' ? 'sk_live_' : apiKey, body, timestamp, requestId).then(
      (made) => {
        if (isCurrent) setSigned(made);
      },
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [apiKey, body, timestamp, requestId]);
  const signature = apiKey === '' ? '(type a key)' : (signed?.signature ?? '');
  return (
    <Section
      title="Signature"
      note="Computed in this browser"
      actions={
        <Button small icon="refresh" onClick={() => setStamp(newStamp())}>
          New time and id
        </Button>
      }
    >
      <div class="stack">
        <p>Five lines, joined by newlines, without one at the end:</p>
        <ol class="signing-lines">
          {LINES.map(({ name, why }, n) => (
            <li key={name}>
              <span class="signing-name">
                {name} <span class="muted">{why}</span>
              </span>
              <code class="text">{signed?.lines[n] ?? '…'}</code>
            </li>
          ))}
        </ol>
        <p>
          HMAC-SHA256 of it.{' '}
          {apiKey.startsWith('pk_')
            ? 'The key of the HMAC is the SHA-256 of your public key, 32 bytes.'
            : 'The key of the HMAC is the text of your secret key.'}
        </p>
        <CodeBlock
          label="Headers"
          wrap
          text={[
            'Content-Type: application/json',
            `X-SVC-Key: ${maskKey(apiKey)}`,
            `X-SVC-Ts: ${timestamp}`,
            `X-SVC-Rid: ${requestId}`,
            `X-SVC-Sig: ${signature}`,
          ].join('\n')}
        />
        <OwnSignature apiKey={apiKey} body={body} />
      </div>
    </Section>
  );
}

function OwnSignature({ apiKey, body }: { readonly apiKey: string; readonly body: string }): JSX.Element {
  const [headers, setHeaders] = useState('');
  const [text, setText] = useState('');
  const [findings, setFindings] = useState<readonly Finding[]>([]);
  useEffect(() => setFindings([]), [apiKey, body, headers, text]);
  const run = (): void => {
    checkSignature(
      { key: apiKey, body, headers, text: text.replaceAll('\r', '') },
      Math.floor(Date.now() / 1_000),
    ).then(setFindings, () =>
      setFindings([{ fits: false, text: 'This browser cannot compute signatures here: open the page over HTTPS.' }]),
    );
  };
  return (
    <details>
      <summary>Check a signature of yours</summary>
      <form
        class="stack padded-top"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <p class="muted">
          Compares it with the signature of this body and this key, and names the line or the mistake that differs.
        </p>
        <div class="columns">
          <Field
            label="Your headers"
            rows={5}
            value={headers}
            onValue={setHeaders}
            placeholder={'X-SVC-Ts: 1795262400\nX-SVC-Rid: …\nX-SVC-Sig: …'}
            spellcheck={false}
          />
          <Field
            label="Your signing string"
            rows={5}
            value={text}
            onValue={setText}
            placeholder={'POST\n/v1/decide\n…'}
            hint="Optional: what your program gave to the HMAC."
            spellcheck={false}
          />
        </div>
        <div class="row">
          <Button type="submit">Check</Button>
        </div>
        <div role="status">
          <ul class="stack-small">
            {findings.map(({ fits, text: finding }) => (
              <li key={finding}>
                <StateMark tone={fits ? 'good' : 'bad'} word={fits ? 'Matches' : 'Differs'} />{' '}
                <Text value={finding} charactersMax={600} />
              </li>
            ))}
          </ul>
        </div>
      </form>
    </details>
  );
}
