import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Icon } from './components/icon.tsx';
import { PAGES, type PageSpec } from './page-table.ts';
import { Logo } from './sign-in.tsx';
import { useLink } from './url-state.ts';

/** The pages: words beside icons, icons alone below 900 px, a bar at the bottom below 600 px with the rest behind "More". */
export function Rail({ path }: { readonly path: string }): JSX.Element {
  const link = useLink();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  const listed = PAGES.filter(({ icon }) => icon !== undefined);
  return (
    <nav class={isOpen ? 'rail rail-open' : 'rail'} aria-label="Pages">
      <a class="brand" href={link('/dashboard')} aria-label="Gatehouse, overview">
        <Logo />
        <span class="rail-word">Gatehouse</span>
      </a>
      <ul class="rail-list">
        {listed.map((page) => (
          <li key={page.id} class={page.isInBar === true ? 'in-bar' : 'in-more'}>
            <a href={link(page.path)} aria-current={isCurrent(page, path) ? 'page' : undefined} title={page.title}>
              {page.icon !== undefined && <Icon name={page.icon} />}
              <span class="rail-word">{page.title}</span>
            </a>
          </li>
        ))}
        <li class="rail-more">
          <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <Icon name={isOpen ? 'close' : 'more'} />
            <span class="rail-word">More</span>
          </button>
        </li>
      </ul>
    </nav>
  );
}

function isCurrent({ path, id }: PageSpec, present: string): boolean {
  return present === path || (id !== 'overview' && present.startsWith(`${path}/`));
}
