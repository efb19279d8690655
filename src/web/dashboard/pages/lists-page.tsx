import type { JSX } from 'preact';
import { Segments } from '../components/filter-chips.tsx';
import { useLink, useUrlState } from '../url-state.ts';
import { CandidatesTab } from './lists/candidates-tab.tsx';
import { EntriesTab } from './lists/entries-tab.tsx';
import { NamedTab } from './lists/named-tab.tsx';
import { UploadTab } from './lists/upload-tab.tsx';

const TABS = [
  { id: '', title: 'Entries', Tab: EntriesTab },
  { id: 'candidates', title: 'Candidates', Tab: CandidatesTab },
  { id: 'upload', title: 'Upload', Tab: UploadTab },
  { id: 'named', title: 'Named lists', Tab: NamedTab },
] as const;

/** Own entries: what is on the list, what could be, and many at once; and the lists that rules name. */
export default function ListsPage(): JSX.Element {
  const url = useUrlState();
  const link = useLink();
  const { id: present, Tab } = TABS.find(({ id }) => id === url.get('tab')) ?? TABS[0];
  return (
    <div class="stack">
      <div>
        <Segments
          label="Parts of this page"
          options={TABS.map(({ id, title }) => ({
            title,
            href: link('/dashboard/lists', { tab: id }),
            isOn: id === present,
          }))}
        />
      </div>
      <Tab />
    </div>
  );
}
