import type { JSX } from 'preact';
import { useLocation } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import type { WatchCreatedBody } from '../../../../contract/wire-types.ts';
import { Button } from '../../components/fields.tsx';
import { isReadOnly } from '../../session.ts';
import { useLink } from '../../url-state.ts';
import { FeedTokenDialog, NewWatch } from './new-watch.tsx';

/** Makes a watch of an extraction, shows its feed token, and leads to its page. */
export function WatchButton({
  extraction,
}: {
  readonly extraction: Readonly<Record<string, unknown>>;
}): JSX.Element | null {
  const { route } = useLocation();
  const link = useLink();
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState<WatchCreatedBody | null>(null);
  if (isReadOnly()) return null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>Watch it</Button>
      {isOpen && <NewWatch extraction={extraction} onMade={setMade} onClose={() => setOpen(false)} />}
      {made !== null && (
        <FeedTokenDialog
          id={made.id}
          token={made.feed_token}
          onClose={() => route(link('/dashboard/watches', { watch: made.id }))}
        />
      )}
    </>
  );
}
