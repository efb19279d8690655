import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button, Field } from '../components/fields.tsx';
import { Segments } from '../components/filter-chips.tsx';
import { Section } from '../components/pane.tsx';
import { useUrlState } from '../url-state.ts';
import { AnswerView } from './try/answer-view.tsx';
import { CodeTabs } from './try/code-tabs.tsx';
import { type Preset, PRESETS, readPresetBody, writeBody } from './try/presets.ts';
import { RebuiltSection } from './try/rebuilt-section.tsx';
import { RequestForm } from './try/request-form.tsx';
import { SigningView } from './try/signing-view.tsx';
import { useTriedRequests } from './try/use-tried-requests.ts';

/** A console for decide requests: by default it simulates; with a typed key it makes real decisions. */
export default function TryPage(): JSX.Element {
  const url = useUrlState();
  const preset = PRESETS.find(({ id }) => id === url.get('preset')) ?? PRESETS[0];
  const from = url.get('from');
  const [text, setText] = useState(() => writeBody(from === '' ? preset.body : {}));
  const [apiKey, setApiKey] = useState('');
  const requests = useTriedRequests();
  const shown = useRef(`${from}/${preset.id}`);
  useEffect(() => {
    // A rebuilt request sets the text when it has come.
    const now = `${from}/${preset.id}`;
    if (shown.current === now || from !== '') return void (shown.current = now);
    shown.current = now;
    setText(writeBody(preset.body));
    requests.clear();
    return undefined;
  }, [preset.id, from]);
  const body = useMemo(() => readPresetBody(text), [text]);
  const count = from === '' ? preset.count : 1;
  const { run } = requests;

  const simulate = (): void => {
    if (body !== null) requests.simulate(text);
  };
  const sendReal = (): void => {
    if (body === null) return;
    // The first request is the text as it stands, so that what was signed above is what is sent.
    const later = Array.from({ length: count - 1 }, (_, n) => writeBody(preset.bodyOf(body, n + 1)));
    requests.decideAll(apiKey.trim(), [text, ...later]);
  };

  const isMany = count > 1;
  return (
    <div
      class="stack"
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        simulate();
      }}
    >
      {from !== '' && (
        <RebuiltSection
          key={from}
          id={from}
          closeHref={url.href({ from: null })}
          onBody={(rebuilt) => {
            setText(writeBody(rebuilt));
            requests.clear();
          }}
        />
      )}
      <Section
        title="Request"
        note={from === '' ? preset.about : 'Rebuilt from a decision.'}
        actions={
          <Button kind="primary" icon="play" disabled={body === null || run?.isBusy === true} onClick={simulate}>
            Simulate
          </Button>
        }
      >
        <div class="stack">
          <PresetLinks
            preset={from === '' ? preset : null}
            href={(id) => url.href({ preset: id === PRESETS[0].id ? null : id, from: null })}
          />
          <RequestForm text={text} onText={setText} />
          <div class="try-real">
            <Field
              label="Key for signatures and real decisions"
              type="password"
              value={apiKey}
              onValue={setApiKey}
              placeholder="sk_live_… or pk_live_…"
              autoComplete="off"
              spellcheck={false}
              hint="Stays in the memory of this page: signatures are made here, and the key is gone when you leave."
            />
            <Button
              icon="right"
              disabled={body === null || apiKey.trim() === '' || run?.isBusy === true}
              onClick={sendReal}
            >
              {isMany ? `Send ${count} real requests` : 'Send as a real decision'}
            </Button>
          </div>
          {isMany && (
            <p class="muted">
              This preset has {count} requests in sequence. A simulation evaluates only the first one, because it stores
              nothing. With a key, all of them are sent, counted and stored.
            </p>
          )}
        </div>
      </Section>
      <AnswerView run={run} />
      <SigningView apiKey={apiKey.trim()} body={text} />
      <CodeTabs body={body === null ? null : text} />
    </div>
  );
}

function PresetLinks({
  preset,
  href,
}: {
  /** Null if the request is none of them. */
  readonly preset: Preset | null;
  readonly href: (id: string) => string;
}): JSX.Element {
  return (
    <Segments
      label="Presets"
      options={PRESETS.map(({ id, title }) => ({ title, href: href(id), isOn: id === preset?.id }))}
    />
  );
}
