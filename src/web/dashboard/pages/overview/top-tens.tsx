import type { JSX } from 'preact';
import type { TopBody } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { DecisionShape } from '../../components/decision-badge.tsx';
import { Section } from '../../components/pane.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { DECISION_WORDS, formatCount, shortHash } from '../../format.ts';
import { kindWords, linkPath } from '../../link-path.ts';
import { useLive } from '../../use-live.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import { Meter } from './figures.tsx';

const LISTS = [
  { title: 'Addresses with most identities', by: 'ip', count: 'identities', unit: 'identities' },
  { title: 'Identities with most devices', by: 'identity', count: 'fingerprints', unit: 'devices' },
  { title: 'Devices with most identities', by: 'fingerprint', count: 'identities', unit: 'identities' },
  { title: 'Networks with most flagged', by: 'network', count: 'flagged', unit: 'flagged' },
] as const;

const EVERY_MS = 30_000;

/** The identities and addresses that stand out in the range. Each row is a link to its own page. */
export function TopTens({ from, to }: { readonly from: number; readonly to: number }): JSX.Element {
  return (
    <div class="columns columns-4">
      {LISTS.map((list) => (
        <TopTen key={list.title} {...list} from={from} to={to} />
      ))}
    </div>
  );
}

function TopTen({
  title,
  by,
  count,
  unit,
  from,
  to,
}: (typeof LISTS)[number] & { readonly from: number; readonly to: number }): JSX.Element {
  const top = useLive<TopBody>(v1('/top', { by, count, from, to }), { everyMs: EVERY_MS });
  const rows = top.data?.rows ?? [];
  const most = rows[0]?.count ?? 1;
  const note = top.data?.is_truncated === true ? `newest ${formatCount(top.data.decisions)}` : undefined;
  return (
    <Section title={title} {...(note === undefined ? {} : { note })} flush>
      <StateView of={top} isEmpty={rows.length === 0} empty={<Empty title="Nothing in this range" />}>
        {() => (
          <table class="table table-plain meters">
            <caption class="hidden-text">{title}</caption>
            <thead class="hidden-text">
              <tr>
                <th scope="col">Value</th>
                <th scope="col">Worst decision</th>
                <th scope="col">{unit}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ kind, id, count: value, worst }) => (
                <tr key={`${kind} ${id}`}>
                  <th scope="row" class="grows">
                    <a class="mono" href={linkPath(kind, id)} title={visibleText(id)}>
                      {shownOf(kind, id)}
                    </a>
                    {kind.startsWith('entity.') && <span class="muted"> {visibleText(kindWords(kind))}</span>}
                    <Meter share={value / most} />
                  </th>
                  <td title={DECISION_WORDS[worst]}>
                    <DecisionShape value={worst} />
                    <span class="hidden-text">{DECISION_WORDS[worst]}</span>
                  </td>
                  <td class="right">{formatCount(value)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </StateView>
    </Section>
  );
}

function shownOf(kind: string, id: string): string {
  const text = kind === 'fingerprint' ? shortHash(id) : id.replace(/^hash:/, '#');
  return cutText(visibleText(text), 44);
}
