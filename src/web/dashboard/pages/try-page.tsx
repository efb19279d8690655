import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ExplainedDecisionBody, SimulationBody } from '../../../contract/wire-types.ts';
import { ApiFault, getJson, send, toFault, v1 } from '../api.ts';
import { Button, Field } from '../components/fields.tsx';
import { Segments } from '../components/filter-chips.tsx';
import { Section } from '../components/pane.tsx';
import { useUrlState } from '../url-state.ts';
import { AnswerView, type AnswerOutcome, type TriedRun } from './try/answer-view.tsx';
import { CodeTabs } from './try/code-tabs.tsx';
import { type Preset, PRESETS, readPresetBody, writeBody } from './try/presets.ts';
import { RebuiltSection } from './try/rebuilt-section.tsx';
import { RequestForm } from './try/request-form.tsx';
import { METHOD, PATH, signTriedRequest } from './try/request-signing.ts';
import { SigningView } from './try/signing-view.tsx';

/** Choice: a decision takes milliseconds; the rest is the network. */
const TIMEOUT_MS = 10_000;

/** A console for decide requests: by default it simulates; with a typed key it makes real decisions. */
export default function TryPage(): JSX.Element {
  const url = useUrlState();
  const preset = PRESETS.find(({ id }) => id === url.get('preset')) ?? PRESETS[0];
  const from = url.get('from');
  const [text, setText] = useState(() => writeBody(from === '' ? preset.body : {}));
  const [apiKey, setApiKey] = useState('');
  const [run, setRun] = useState<TriedRun | null>(null);
  const current = useRef<AbortController | null>(null);
  const shown = useRef(`${from}/${preset.id}`);
  useEffect(() => () => current.current?.abort(), []);
  useEffect(() => {
    // A rebuilt request sets the text when it has come.
    const now = `${from}/${preset.id}`;
    if (shown.current === now || from !== '') return void (shown.current = now);
    shown.current = now;
    current.current?.abort();
    setText(writeBody(preset.body));
    setRun(null);
    return undefined;
  }, [preset.id, from]);
  const body = useMemo(() => readPresetBody(text), [text]);
  const count = from === '' ? preset.count : 1;

  const start = async (isReal: boolean): Promise<void> => {
    if (body === null) return;
    current.current?.abort();
    const own = new AbortController();
    current.current = own;
    const total = isReal ? count : 1;
    const outcomes: AnswerOutcome[] = [];
    const show = (isBusy: boolean, fault: ApiFault | null = null): void => {
      if (!own.signal.aborted) setRun({ total, outcomes: [...outcomes], fault, isBusy });
    };
    show(true);
    try {
      for (let n = 0; n < total && !own.signal.aborted; n++) {
        // The first request is the text as it stands, so that what was signed above is what is sent.
        const sent = n === 0 ? text : writeBody(preset.bodyOf(body, n));
        outcomes.push(isReal ? await decide(apiKey.trim(), sent, n, own.signal) : await simulate(sent, own.signal));
        show(true);
      }
      show(false);
    } catch (error) {
      show(false, toFault(error));
    }
  };

  const isMany = count > 1;
  return (
    <div
      class="stack"
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        void start(false);
      }}
    >
      {from !== '' && (
        <RebuiltSection
          key={from}
          id={from}
          closeHref={url.href({ from: null })}
          onBody={(rebuilt) => {
            setText(writeBody(rebuilt));
            setRun(null);
          }}
        />
      )}
      <Section
        title="Request"
        note={from === '' ? preset.about : 'Rebuilt from a decision.'}
        actions={
          <Button
            kind="primary"
            icon="play"
            disabled={body === null || run?.isBusy === true}
            onClick={() => void start(false)}
          >
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
              onClick={() => void start(true)}
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

async function simulate(text: string, signal: AbortSignal): Promise<AnswerOutcome> {
  const answer = await send<SimulationBody>('POST', v1('/simulate'), JSON.parse(text), { signal });
  return { n: 0, isReal: false, answer, summary: answer, raw: JSON.stringify(answer, null, 2) };
}

/** Sends a signed request to the API beside this page, as any client would: without the cookie. */
async function decide(key: string, text: string, n: number, signal: AbortSignal): Promise<AnswerOutcome> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const requestId = crypto.randomUUID();
  const { signature } = await signTriedRequest(key, text, timestamp, requestId);
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const response = await fetch(PATH, {
    method: METHOD,
    body: text,
    credentials: 'omit',
    cache: 'no-store',
    signal: timeout,
    headers: {
      'Content-Type': 'application/json',
      'X-SVC-Key': key,
      'X-SVC-Ts': timestamp,
      'X-SVC-Rid': requestId,
      'X-SVC-Sig': signature,
    },
  });
  const raw = await response.text();
  const parsed = readPresetBody(raw);
  if (!response.ok || parsed === null) throw faultOf(response.status, parsed);
  const summary = parsed as unknown as AnswerOutcome['summary'];
  return {
    n,
    isReal: true,
    summary,
    answer: await explain(summary.request_id, signal),
    raw: JSON.stringify(parsed, null, 2),
  };
}

function faultOf(status: number, parsed: Readonly<Record<string, unknown>> | null): ApiFault {
  const { code, title, detail, request_id: requestId } = parsed ?? {};
  if (typeof code === 'string' && typeof title === 'string')
    return new ApiFault(status, {
      code,
      title,
      ...(typeof detail === 'string' ? { detail } : {}),
      ...(typeof requestId === 'string' ? { request_id: requestId } : {}),
    });
  return new ApiFault(status, {
    code: 'unexpected_response',
    title: status === 404 ? 'The API is not on this address: the dashboard has a port of its own' : `Status ${status}`,
  });
}

/** null: it is a decision of another customer, or already gone. */
async function explain(requestId: string, signal: AbortSignal): Promise<ExplainedDecisionBody | null> {
  try {
    return await getJson<ExplainedDecisionBody>(v1(`/decisions/${encodeURIComponent(requestId)}`), { signal });
  } catch (error) {
    if (toFault(error).status === 404) return null;
    throw error;
  }
}
