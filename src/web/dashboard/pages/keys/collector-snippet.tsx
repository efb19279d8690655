import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { toBase64 } from '../../digests.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { Section } from '../../components/pane.tsx';
import { Empty, Skeleton } from '../../components/state-view.tsx';
import { session } from '../../session.ts';

type Found =
  | { readonly kind: 'looking' }
  | { readonly kind: 'none' }
  | { readonly kind: 'found'; readonly path: string; readonly integrity: string; readonly bytes: number };

/** Choice: far above the budget of the script, 20 KB gzipped. */
const BYTES_MAX = 1_000_000;

/** Loads the script that is served beside this page and computes its integrity here, from the bytes that browsers get. */
async function findCollector(version: string | undefined, signal: AbortSignal): Promise<Found> {
  const path = version === undefined ? '/v1/collector.js' : `/v1/collector/${encodeURIComponent(version)}.js`;
  const response = await fetch(path, { signal, credentials: 'omit' });
  if (!response.ok || !(response.headers.get('content-type') ?? '').startsWith('text/javascript'))
    return { kind: 'none' };
  const bytes = await response.arrayBuffer();
  if (bytes.byteLength === 0 || bytes.byteLength > BYTES_MAX) return { kind: 'none' };
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-384', bytes));
  return { kind: 'found', path, integrity: `sha384-${toBase64(digest)}`, bytes: bytes.byteLength };
}

/** The lines for a page's head, with the integrity of the version that this server has. */
export function CollectorSnippet(): JSX.Element {
  const [found, setFound] = useState<Found>({ kind: 'looking' });
  const version = session.value.kind === 'signed_in' ? session.value.session.collector_version : undefined;
  useEffect(() => {
    const end = new AbortController();
    findCollector(version, end.signal).then(setFound, () => {
      if (!end.signal.aborted) setFound({ kind: 'none' });
    });
    return () => end.abort();
  }, [version]);
  return (
    <Section title="Collector" note={version === undefined ? undefined : `Version ${version}`}>
      {found.kind === 'looking' && <Skeleton form="text" />}
      {found.kind === 'none' && (
        <Empty icon="warning" title="The script is not served on this address">
          This build has none, or the dashboard has a port of its own: look at /v1/collector.js of the API.
        </Empty>
      )}
      {found.kind === 'found' && (
        <div class="stack-small">
          <p>
            Put this into the head of your pages, with your public key. Your pages' origin must be among the allowed
            origins of the key.
          </p>
          <CodeBlock text={snippetOf(found.path, found.integrity, version !== undefined)} label="Collector snippet" />
        </div>
      )}
    </Section>
  );
}

/** Only a script with its version in the path never changes: the integrity of another one would break pages at the next update. */
function snippetOf(path: string, integrity: string, isPinned: boolean): string {
  const lines = [`<script src="${location.origin}${path}"`];
  if (isPinned) lines.push(`  integrity="${integrity}" crossorigin="anonymous"`);
  return `${lines.join('\n')}\n  data-key="pk_live_…" async></script>`;
}
