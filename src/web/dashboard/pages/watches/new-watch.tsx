import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { WatchCreatedBody } from '../../../../contract/wire-types.ts';
import { ApiFault, send, v1 } from '../../api.ts';
import { Checks } from '../../components/checks.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Field, Select } from '../../components/fields.tsx';
import { ShownOnceDialog } from '../../components/shown-once-dialog.tsx';
import { filledLines, watchPathOf } from './watch-words.ts';

const SCHEDULES = [
  { value: 'every', title: 'Every so often' },
  { value: 'cron', title: 'By a cron line' },
] as const;
const KINDS = ['new', 'changed', 'gone'] as const;
const EXAMPLE =
  '{"connector":"generic","operation":"page.select","input":{"url":"https://…","each":"li","fields":{"id":{"attr":"data-id"}}}}';

/** Creates a watch. `extraction`: what each run extracts, if it is known. */
export function NewWatch({
  extraction = null,
  onMade,
  onClose,
}: {
  readonly extraction?: Readonly<Record<string, unknown>> | null;
  readonly onMade: (watch: WatchCreatedBody) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const [name, setName] = useState('');
  const [body, setBody] = useState(extraction === null ? '' : JSON.stringify(extraction, null, 1));
  const [form, setForm] = useState('every');
  const [times, setTimes] = useState('1h');
  const [key, setKey] = useState('id');
  const [compare, setCompare] = useState('');
  const [emit, setEmit] = useState<readonly string[]>(KINDS);
  const [compared, keys] = [filledLines(compare), filledLines(key)];
  return (
    <Confirm
      title="New watch"
      confirm="Create"
      disabled={keys.length === 0 || emit.length === 0 || times.trim() === '' || body.trim() === ''}
      onClose={onClose}
      onConfirm={async () => {
        const made = await send<WatchCreatedBody>('POST', v1('/watches'), {
          name: name.trim() || null,
          extraction: parsed(body),
          [form]: times.trim(),
          key: keys,
          compare: compared.length === 0 ? null : compared,
          emit,
        });
        onMade(made);
      }}
    >
      <Field label="Name" value={name} onValue={setName} maxLength={100} hint="Optional." autoFocus />
      <Field
        label="Extraction"
        value={body}
        onValue={setBody}
        rows={5}
        spellcheck={false}
        placeholder={EXAMPLE}
        hint="As JSON: the body of POST /v1/extractions, without delivery. The form on “Extractions” fills it in."
      />
      <Select
        label="Runs"
        value={form}
        choices={SCHEDULES}
        onValue={(value) => {
          setForm(value);
          setTimes(value === 'every' ? '1h' : '0 6 * * MON-FRI');
        }}
      />
      <Field
        label={form === 'every' ? 'Every' : 'Cron line'}
        value={times}
        onValue={setTimes}
        maxLength={100}
        spellcheck={false}
        hint={
          form === 'every'
            ? 'Minutes, hours or days: 15m, 6h, 1d. At least 5m; the first run begins at once.'
            : 'Five fields in UTC, at least 5 minutes apart.'
        }
      />
      <Field
        label="Key"
        value={key}
        onValue={setKey}
        rows={2}
        spellcheck={false}
        hint="Fields that identify a record, one a line."
      />
      <Field
        label="Compare"
        value={compare}
        onValue={setCompare}
        rows={2}
        spellcheck={false}
        hint="Fields whose values are compared, one a line. Empty: the whole record."
      />
      <Checks
        legend="Keep records that are"
        choices={KINDS.map((kind) => ({ value: kind, title: kind }))}
        chosen={emit}
        onChosen={setEmit}
      />
    </Confirm>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const errors = [{ pointer: '/extraction', code: 'invalid_value' as const, message: 'This must be JSON.' }];
    throw new ApiFault(0, { code: 'validation_failed', title: 'The extraction is not JSON', errors });
  }
}

/** The token of a watch's feed, with the addresses that a feed reader needs. */
export function FeedTokenDialog({
  id,
  token,
  onClose,
}: {
  readonly id: string;
  readonly token: string;
  readonly onClose: () => void;
}): JSX.Element {
  const address = `${location.origin}/v1${watchPathOf({ id })}/changes?token=${token}&format=`;
  return (
    <ShownOnceDialog
      title="The feed of the watch"
      secrets={[
        { label: 'Atom', text: `${address}atom` },
        { label: 'RSS', text: `${address}rss` },
        { label: 'Token', text: token },
      ].map((secret) => ({ ...secret, note: '' }))}
      onClose={onClose}
    >
      Give one of the addresses to a feed reader. It reads the newest changes of this watch, without a key. No later
      call shows the token again; you can always make a new one. If the dashboard has its own port, put the API’s
      address first.
    </ShownOnceDialog>
  );
}
