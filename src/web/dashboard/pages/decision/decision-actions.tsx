import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';
import type { Label, ListAction } from '../../../../contract/vocabulary.ts';
import type { ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
import { send, toFault, v1 } from '../../api.ts';
import { copyText } from '../../components/copy.tsx';
import { Button } from '../../components/fields.tsx';
import { type ListedSubject, subjectId } from '../../list-actions.ts';
import { ListActionDialog } from '../../components/list-action-dialog.tsx';
import { toast } from '../../components/toast.tsx';
import { shortId } from '../../format.ts';
import { useKeys } from '../../keyboard.ts';
import { isReadOnly } from '../../session.ts';
import { urlWith } from '../../url-state.ts';

/** What of a decision can be listed: the fingerprint first. An identity that is not kept as it is has the value ''. */
function listedSubjects({
  fingerprint_hash: hash,
  ip,
  country,
  links,
}: ExplainedDecisionBody): readonly ListedSubject[] {
  const networks = links.filter(({ kind }) => kind === 'network').map(({ kind, id }) => ({ kind, value: id }));
  const subjects = [
    ...(hash === null ? [] : [{ kind: 'fingerprint', value: hash }]),
    ...(ip === null ? [] : [{ kind: 'ip', value: ip }]),
    ...networks,
    ...links.flatMap(({ kind, id }) => (kind.startsWith('entity.') ? identitySubjects(kind, id) : [])),
    ...(country === null ? [] : [{ kind: 'country', value: country }]),
  ];
  return [...new Map(subjects.map((subject) => [subjectId(subject), subject])).values()];
}

/** Several names may have the same address: duplicates are possible. */
function identitySubjects(kind: string, id: string): readonly ListedSubject[] {
  const isKept = !id.startsWith('hash:') && !id.includes('***');
  const value = isKept ? id : '';
  const domain = /@([^@\s]+)$/.exec(id)?.[1];
  const isEmail = domain !== undefined || (!isKept && /mail/i.test(kind));
  if (!isEmail) return [{ kind, value }];
  return [
    { kind, value },
    { kind: 'email', value },
    { kind: 'email_domain', value: domain ?? '' },
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
