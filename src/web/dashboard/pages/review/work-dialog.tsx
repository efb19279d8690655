import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ShadowReviewRow } from '../../../../contract/wire-types.ts';
import { send, v1 } from '../../api.ts';
import { Confirm } from '../../components/dialog.tsx';
import { Field } from '../../components/fields.tsx';
import { shortId } from '../../format.ts';

/** The name that was entered last, offered for the next row. */
let lastAssignee = '';

/** Assigns a row to somebody and keeps a note with it. */
export function WorkDialog({
  row,
  onDone,
  onClose,
}: {
  readonly row: ShadowReviewRow;
  readonly onDone: (row: ShadowReviewRow) => void;
  readonly onClose: () => void;
}): JSX.Element {
  const [assignee, setAssignee] = useState(row.assignee ?? lastAssignee);
  const [note, setNote] = useState(row.note ?? '');
  const save = async (): Promise<void> => {
    const body = { assignee: assignee.trim() || null, note: note.trim() || null };
    const changed = await send<ShadowReviewRow>('POST', v1(`/shadow-reviews/${row.request_id}`), body);
    lastAssignee = assignee.trim();
    onDone(changed);
  };
  return (
    <Confirm title={`Assign ${shortId(row.request_id)}`} confirm="Save" onConfirm={save} onClose={onClose}>
      <Field label="Assigned to" value={assignee} onValue={setAssignee} maxLength={100} hint="Empty for nobody." />
      <Field label="Note" value={note} onValue={setNote} maxLength={500} hint="Deleted with the row after 30 days." />
    </Confirm>
  );
}
