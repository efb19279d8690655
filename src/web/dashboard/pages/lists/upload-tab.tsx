import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button, Field, Select } from '../../components/fields.tsx';
import { Section } from '../../components/pane.tsx';
import { Icon } from '../../components/icon.tsx';
import { isReadOnly } from '../../session.ts';
import { countOf, formatCount } from '../../format.ts';
import { BatchPreview } from './batch-preview.tsx';
import { type ReadEntries, readEntriesCsv, UPLOAD_ROWS_MAX } from './list-csv.ts';

/** Choice: far above what 10,000 entries with notes usually take. */
const TEXT_CHARACTERS_MAX = 4_000_000;
const FAULTS_SHOWN = 20;

const ENDS = [
  { value: '7', title: '7 days' },
  { value: '30', title: '30 days' },
  { value: '90', title: '90 days' },
  { value: '', title: 'Never' },
] as const;

const EXAMPLE = `kind,value,action,note,expires_at
network,203.0.113.0/24,block,three chargebacks,2027-01-31`;

/** Pasted or uploaded CSV: read here, tried by a dry run, written only then. */
export function UploadTab(): JSX.Element {
  const [text, setText] = useState('');
  const [days, setDays] = useState('30');
  const [fault, setFault] = useState('');
  const [read, setRead] = useState<ReadEntries | null>(null);
  const change = (newText: string): void => {
    setText(newText);
    setRead(null);
    setFault(newText.length > TEXT_CHARACTERS_MAX ? 'This is too long: at most 4 million characters at once.' : '');
  };
  const open = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    if (file.size > TEXT_CHARACTERS_MAX) {
      setFault('The file is too large: at most 4 MB at once.');
      return;
    }
    try {
      change(new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer()));
    } catch {
      setFault('The file is not UTF-8 text.');
    }
  };
  const check = (): void => {
    const now = Math.floor(Date.now() / 1_000);
    setRead(readEntriesCsv(text, days === '' ? null : now + Number(days) * 86_400, now));
  };
  return (
    <div class="stack">
      <Section title="Upload" note={`up to ${formatCount(UPLOAD_ROWS_MAX)} entries at once`}>
        <form
          class="dialog-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (fault === '') check();
          }}
        >
          <Field
            label="CSV"
            rows={7}
            value={text}
            onValue={change}
            placeholder={EXAMPLE}
            spellcheck={false}
            hint="The first line names the columns: kind, value, action (block, allow or watch), note, expires_at (Unix seconds or a date), event_types (with spaces between). The last three may be absent."
            error={fault === '' ? undefined : fault}
          />
          <div class="row upload-row">
            <label class="button">
              <Icon name="down" /> Choose a file
              <input
                class="hidden-text"
                type="file"
                accept=".csv,text/csv,text/plain"
                onChange={(event) => {
                  const input = event.currentTarget;
                  void open(input.files?.[0]).finally(() => (input.value = ''));
                }}
              />
            </label>
            <Select label="Blocks without expires_at end after" value={days} onValue={setDays} choices={ENDS} />
            <Button type="submit" kind="primary" disabled={text.trim() === '' || isReadOnly()}>
              Check
            </Button>
          </div>
        </form>
      </Section>
      {read !== null && <Checked read={read} onWritten={() => change('')} />}
    </div>
  );
}

function Checked({ read, onWritten }: { readonly read: ReadEntries; readonly onWritten: () => void }): JSX.Element {
  const { entries, faults } = read;
  return (
    <Section title="What would change">
      <div class="stack">
        {faults.length > 0 && (
          <div role="alert">
            <p class="tone-bad">
              <Icon name="error" size={14} /> {countOf(faults.length, 'line')} cannot be read
              {entries.length === 0 ? '.' : '; the others can be written without them.'}
            </p>
            <ul class="faults small">
              {faults.slice(0, FAULTS_SHOWN).map(({ line, message }) => (
                <li key={line}>
                  <span class="num">Line {formatCount(line)}:</span> {message}
                </li>
              ))}
              {faults.length > FAULTS_SHOWN && <li>and {formatCount(faults.length - FAULTS_SHOWN)} more</li>}
            </ul>
          </div>
        )}
        {entries.length === 0 ? (
          faults.length === 0 && <p class="muted">There is no entry below the first line.</p>
        ) : (
          <BatchPreview entries={entries} verb="Write" onWritten={onWritten} />
        )}
      </div>
    </Section>
  );
}
