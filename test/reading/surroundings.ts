import type { Writer } from './sentences.ts';

/** Parts of a page that are not its text. */

export function header(): string {
  return `<header class="site-header"><a href="/">Coast Notes</a><nav><ul>${links(['Home', 'Places', 'People', 'Archive', 'Contact'])}</ul></nav></header>`;
}

export function footer(writer: Writer): string {
  return `<footer><p>${writer.sentence()} All rights reserved.</p><ul>${links(['Imprint', 'Privacy', 'Press', 'Jobs'])}</ul></footer>`;
}

export function links(texts: readonly string[]): string {
  return texts.map((text) => `<li><a href="/${encodeURIComponent(text)}">${text}</a></li>`).join('');
}

/** Readers' comments as they stand within the main part of many sites. */
export function comments(writer: Writer, count = 6, name = 'comments'): string {
  const list = Array.from(
    { length: count },
    () => `<li class="entry"><cite>${writer.name()}</cite><p>${writer.paragraph(2)}</p></li>`,
  );
  return `<section id="${name}"><h2>${count} comments</h2><ol>${list.join('')}</ol></section>`;
}

/** Cards of other stories below a text. */
export function related(writer: Writer, title = 'Related articles', count = 6): string {
  const cards = Array.from(
    { length: count },
    () => `<div class="card"><a href="/s"><h3>${writer.heading()}</h3><span>${writer.sentence()}</span></a></div>`,
  );
  return `<div><h2>${title}</h2><div class="grid">${cards.join('')}</div></div>`;
}

export function sideBar(writer: Writer): string {
  return `<div class="sidebar"><h3>About us</h3><p>${writer.paragraph(3)}</p><ul>${links(['2024', '2025', '2026'])}</ul></div>`;
}

/** Text that a browser does not show. */
export function hidden(writer: Writer, way: number): string {
  const text = `<p>Unseen: ${writer.paragraph(8)}</p>`;
  const ways = [
    `<template><main>${text}</main></template>`,
    `<main hidden>${text}</main>`,
    `<div style="display:none">${text}</div>`,
    `<div id="cookie-banner" role="main">${text}<button>Accept all</button></div>`,
    `<div aria-hidden="true">${text}</div>`,
  ];
  return ways[way % ways.length] ?? '';
}
