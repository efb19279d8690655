import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import type { Label, ListAction } from '../../../../contract/vocabulary.ts';
import type { ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
import { send, toFault, v1 } from '../../api.ts';
import { copyText } from '../../components/copy.tsx';
import { Button } from '../../components/fields.tsx';
import type { ListedSubject } from '../../list-actions.ts';
import { ListActionDialog } from '../../components/list-action-dialog.tsx';
import { toast } from '../../components/toast.tsx';
import { shortId } from '../../format.ts';
import { useKeys } from '../../keyboard.ts';
import { isReadOnly } from '../../session.ts';
import { urlWith } from '../../url-state.ts';

/** Subjects of a decision that can be listed: the fingerprint first. Identities only if they are kept as they are. */
function listedSubjects(decision: ExplainedDecisionBody): readonly ListedSubject[] {
  const { fingerprint_hash: hash, ip, country, links } = decision;
  const ofLinks = links.filter(
    ({ kind, id }) =>
      (kind === 'network' || kind.startsWith('entity.')) && !id.startsWith('hash:') && !id.includes('***'),
  );
  const domains = links.flatMap(({ kind, id }) =>
    kind.startsWith('entity.') ? (/@([^@\s]+)$/.exec(id)?.[1] ?? []) : [],
  );
  return [
    ...(hash === null ? [] : [{ kind: 'fingerprint', value: hash }]),
    ...(ip === null ? [] : [{ kind: 'ip', value: ip }]),
    ...ofLinks.map(({ kind, id }) => ({ kind, value: id })),
    ...domains.map((value) => ({ kind: 'email_domain', value })),
    ...(country === null ? [] : [{ kind: 'country', value: country }]),
  ];
}

/** Actions on a decision: a list entry, a label, copies of its id and command. */
export function DecisionActions({
  decision,
  onChange,
}: {
  readonly decision: ExplainedDecisionBody;
  readonly onChange: () => void;
}): JSX.Element {
  const [action, setAction] = useState<ListAction | null>(null);
  const [isBusy, setBusy] = useState(false);
  const { request_id: id, label } = decision;
  const [first, ...others] = listedSubjects(decision);
  const { route } = useLocation();
  const canWrite = !isReadOnly();
  const canList = canWrite && first !== undefined;
  const setLabel = async (value: Label): Promise<void> => {
    setBusy(true);
    try {
      await send('POST', v1('/labels'), { request_id: id, label: value });
      const undo = label === null || label === value ? undefined : (): void => void setLabel(label);
      toast(`Labelled ${shortId(id)} as ${value}`, undo);
      onChange();
    } catch (error) {
      const { title, code } = toFault(error);
      toast(`Not labelled: ${title} (${code})`);
    }
    setBusy(false);
  };
  const curl = `curl -H "Authorization: Bearer $GATEHOUSE_KEY" '${location.origin}/v1/decisions/${id}'`;
  const simulatePath = urlWith('/dashboard/try', {}, { from: id });
  const open = (value: ListAction): boolean => {
    if (canList) setAction(value);
    return canList;
  };
  useKeys(
    'Decision',
    [
      { keys: 'b', does: 'Block the fingerprint, the address, … (asks)', run: () => open('block') },
      { keys: 'a', does: 'Allow the fingerprint, the address, … (asks)', run: () => open('allow') },
      { keys: 'w', does: 'Watch the fingerprint, the address, … (asks)', run: () => open('watch') },
      { keys: 's', does: 'Simulate it again', run: () => route(simulatePath) },
      { keys: 'c', does: 'Copy the id', run: () => void copyText(id, 'the id') },
    ],
    [id, canList, route],
  );
  return (
    <div class="row">
      <Button kind="danger" disabled={!canList} onClick={() => setAction('block')}>
        Block
      </Button>
      <Button disabled={!canList} onClick={() => setAction('allow')}>
        Allow
      </Button>
      <Button disabled={!canList} onClick={() => setAction('watch')}>
        Watch
      </Button>
      <span class="divider" />
      <Button disabled={!canWrite || isBusy} aria-pressed={label === 'fraud'} onClick={() => void setLabel('fraud')}>
        It was fraud
      </Button>
      <Button
        disabled={!canWrite || isBusy}
        aria-pressed={label === 'legitimate'}
        onClick={() => void setLabel('legitimate')}
      >
        It was legitimate
      </Button>
      <span class="divider" />
      <a class="button" href={simulatePath}>
        Simulate again
      </a>
      <Button icon="copy" kind="quiet" onClick={() => void copyText(curl, 'the command')}>
        curl
      </Button>
      {action !== null && first !== undefined && (
        <ListActionDialog
          subjects={[first, ...others]}
          action={action}
          onClose={() => setAction(null)}
          onDone={onChange}
        />
      )}
    </div>
  );
}
