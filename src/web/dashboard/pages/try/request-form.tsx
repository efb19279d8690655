import type { JSX } from 'preact';
import { Field, Select } from '../../components/fields.tsx';
import { type DecideBody, readPresetBody, writeBody } from './presets.ts';

const TEXTS = [
  { name: 'event_type', label: 'Event', placeholder: 'login' },
  { name: 'session_token', label: 'Session token', placeholder: 'any text that is stable within a session' },
  { name: 'ip', label: 'Address', placeholder: '81.2.69.160' },
  { name: 'user_agent', label: 'User agent', placeholder: 'Mozilla/5.0 …' },
  { name: 'url', label: 'Page', placeholder: 'https://shop.example/login' },
  { name: 'referrer', label: 'Page before', placeholder: 'https://shop.example/' },
] as const;

const OUTCOMES = ['succeeded', 'failed', 'declined', 'challenge_passed', 'challenge_failed'] as const;

/** The same request as fields and as JSON: a change of one changes the other. The JSON is what is signed and sent, byte for byte. */
export function RequestForm({
  text,
  onText,
}: {
  readonly text: string;
  readonly onText: (text: string) => void;
}): JSX.Element {
  const body = readPresetBody(text);
  const set = (name: string, value: string): void => {
    if (body !== null) onText(writeBody(withField(body, name, value)));
  };
  const entities = body?.['entity_keys'];
  const emailOf = (): string => textOf(isObject(entities) ? entities['email'] : undefined);
  const setEmail = (value: string): void => {
    if (body === null) return;
    const changed = withField(isObject(entities) ? entities : {}, 'email', value);
    onText(
      writeBody(
        Object.keys(changed).length === 0 ? withField(body, 'entity_keys', '') : { ...body, entity_keys: changed },
      ),
    );
  };
  return (
    <div class="columns">
      <fieldset class="plain-fieldset" disabled={body === null}>
        <legend class="hidden-text">Fields of the request</legend>
        {TEXTS.map(({ name, label, placeholder }) => (
          <Field
            key={name}
            label={label}
            value={textOf(body?.[name])}
            onValue={(value) => set(name, value)}
            placeholder={placeholder}
            autoComplete="off"
            spellcheck={false}
          />
        ))}
        <Field
          label="E-mail"
          value={emailOf()}
          onValue={setEmail}
          placeholder="anna@example.com"
          autoComplete="off"
          spellcheck={false}
        />
        <Select
          label="Outcome"
          value={textOf(body?.['outcome'])}
          onValue={(value) => set('outcome', value)}
          choices={[
            { value: '', title: 'Not known yet' },
            ...OUTCOMES.map((value) => ({ value, title: value.replace('_', ' ') })),
          ]}
        />
      </fieldset>
      <Field
        label="Body"
        rows={22}
        value={text}
        onValue={onText}
        spellcheck={false}
        error={body === null ? 'This must be a JSON object. The fields come back when it is.' : undefined}
        hint="Further fields: headers, entity_keys with any names, timestamp."
      />
    </div>
  );
}

/** An empty text removes the field. */
function withField(body: DecideBody, name: string, value: string): DecideBody {
  const { [name]: _, ...rest } = body;
  if (value === '') return rest;
  return name in body ? { ...body, [name]: value } : { ...rest, [name]: value };
}

function isObject(value: unknown): value is DecideBody {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}
