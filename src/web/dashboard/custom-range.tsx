import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './components/dialog.tsx';
import { Button, Field } from './components/fields.tsx';

function localText(at: number): string {
  const date = new Date(at * 1_000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Asks for the first and the last second of a range. */
export function CustomRange({
  from,
  to,
  onChoose,
  onClose,
}: {
  readonly from: number;
  readonly to: number;
  readonly onChoose: (from: number, to: number) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const [start, setStart] = useState(localText(from));
  const [end, setEnd] = useState(localText(to));
  const first = new Date(start).getTime() / 1_000;
  const last = new Date(end).getTime() / 1_000;
  const isWrong = !(first < last);
  return (
    <Dialog title="Range of time" onClose={onClose}>
      <form
        class="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isWrong) onChoose(first, last);
        }}
      >
        <Field label="From" type="datetime-local" value={start} onValue={setStart} />
        <Field
          label="To"
          type="datetime-local"
          value={end}
          onValue={setEnd}
          error={isWrong ? 'This must be after the start.' : undefined}
        />
        <p class="muted small">Counts by minute are kept for 24 h, by hour for 30 days.</p>
        <div class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={isWrong}>
            Show
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
