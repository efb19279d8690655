import { Writer } from './sentences.ts';
import { comments, footer, header, hidden, links, related, sideBar } from './surroundings.ts';

/** Pages of the reading set: eight of each kind, in the forms in which sites of that kind write them. */

export interface ReadingPage {
  readonly kind: string;
  readonly name: string;
  readonly url: string;
  readonly html: string;
  /** What a reader would copy from it. */
  readonly text: string;
}

interface Body {
  readonly html: string;
  readonly text: readonly string[];
}

const VARIANTS = 8;

/** Wraps a text in the marks of a kind of software. `inner` follows the text within its main part. */
type Frame = (text: string, inner: string) => string;

const FRAMES: readonly Frame[] = [
  (text, inner) => `<main>${text}${inner}</main>`,
  (text, inner) => `<main><article>${text}${inner}</article></main>`,
  (text, inner) => `<div class="wrapper"><div class="post-content">${text}</div>${inner}</div>`,
  (text, inner) => `<div id="page"><div id="content" role="main"><div class="entry">${text}${inner}</div></div></div>`,
  (text, inner) => `<table><tr><td>${text}${inner}</td></tr></table>`,
  (text, inner) => `<article><section>${text}</section>${inner}</article>`,
  (text, inner) => `<div class="css-1x9f2"><div class="css-77ab">${text}</div><div class="css-3c">${inner}</div></div>`,
  (text, inner) => `<main id="main"><div class="col-8">${text}</div><div class="col-4">${inner}</div></main>`,
];

function paragraphs(writer: Writer, count: number, sentences = 3): Body {
  const text = Array.from({ length: count }, () => writer.paragraph(sentences));
  return { text, html: text.map((one) => `<p>${one}</p>`).join('\n') };
}

function headed(writer: Writer, body: Body): Body {
  const title = writer.heading();
  return { text: [title, ...body.text], html: `<h1>${title}</h1>${body.html}` };
}

function joined(...bodies: readonly Body[]): Body {
  return { text: bodies.flatMap(({ text }) => text), html: bodies.map(({ html }) => html).join('\n') };
}

function section(writer: Writer, body: Body): Body {
  const title = writer.heading();
  return { text: [title, ...body.text], html: `<section><h2>${title}</h2>${body.html}</section>` };
}

function news(writer: Writer, variant: number): string[] {
  const { html, text } = headed(writer, paragraphs(writer, 6 + variant));
  const inner = comments(writer, 5 + variant) + related(writer, variant % 2 === 0 ? 'Related articles' : 'Read more');
  return [frame(variant, html, inner), text.join('\n')];
}

function blog(writer: Writer, variant: number): string[] {
  const { html, text } = headed(
    writer,
    joined(paragraphs(writer, 3), section(writer, paragraphs(writer, 3)), section(writer, paragraphs(writer, 2))),
  );
  const inner = `<div class="author-bio"><p>${writer.paragraph(3)}</p></div>${sideBar(writer)}${related(writer, 'You may also like')}`;
  return [frame(variant + 3, html, inner), text.join('\n')];
}

function documentation(writer: Writer, variant: number): string[] {
  const code = `const level = readGauge(${variant});\nif (level > ${variant + 3}) openLock();`;
  const example: Body = { html: `<pre><code>${code}</code></pre>`, text: [code] };
  const parts = Array.from({ length: 4 }, () => section(writer, joined(paragraphs(writer, 2, 2), example)));
  const { html, text } = headed(writer, joined(...parts));
  const menu = `<nav class="toc"><ul>${links(Array.from({ length: 20 }, () => writer.heading()))}</ul></nav>`;
  const page = frame(variant, html, '<div class="feedback"><p>Was this page helpful?</p></div>');
  return [`<div class="layout">${menu}${page}</div>`, text.join('\n')];
}

function forum(writer: Writer, variant: number): string[] {
  const posts = Array.from({ length: 6 }, () => ({ name: writer.name(), text: writer.paragraph(3) }));
  const list = posts.map(({ name, text }) =>
    variant % 2 === 0
      ? `<article class="message"><div class="message-cell--user"><a href="/u">${name}</a><p>Joined in May, 412 messages</p></div><div class="body"><p>${text}</p></div></article>`
      : `<li class="post comment"><div class="postprofile">${name}, member since 2019, likes 12</div><div class="content">${text}</div></li>`,
  );
  const title = writer.heading();
  const html = `<h1>${title}</h1><div id="posts">${list.join('')}</div>`;
  const page = frame(variant, html, related(writer, 'Similar threads', 4));
  return [page, [title, ...posts.map(({ text }) => text)].join('\n')];
}

function product(writer: Writer, variant: number): string[] {
  const rows = ['Width', 'Height', 'Weight', 'Wood'].map((name, at) => `${name} ${10 + variant + at}`);
  const table = `<table>${rows.map((row) => `<tr><td>${row}</td></tr>`).join('')}</table>`;
  const about = paragraphs(writer, 3);
  const { html, text } = headed(writer, joined(about, { html: table, text: rows }));
  const reviews = comments(writer, 8, 'customer-reviews');
  return [frame(variant, html, reviews + related(writer, 'Customers also bought')), text.join('\n')];
}

function listing(writer: Writer, variant: number): string[] {
  const items = Array.from({ length: 12 }, () => ({ title: writer.heading(), text: writer.sentence() }));
  const list = items.map(({ title, text }) =>
    variant % 2 === 0
      ? `<article><h2><a href="/a">${title}</a></h2><p>${text}</p></article>`
      : `<li><a href="/a">${title}</a><span>${text}</span></li>`,
  );
  const all = variant % 2 === 0 ? list.join('') : `<ul>${list.join('')}</ul>`;
  const page = frame(variant, all, `<div class="pagination">${links(['1', '2', '3'])}</div>${sideBar(writer)}`);
  return [page, items.map(({ title, text }) => `${title}\n${text}`).join('\n')];
}

function service(writer: Writer, variant: number): string[] {
  const parts = Array.from({ length: 5 }, () => section(writer, paragraphs(writer, 1, 2)));
  const { html, text } = headed(writer, joined(...parts));
  const styled = html.replaceAll('<section>', '<section class="overflow-hidden md:block hidden-none">');
  const inner = `<form class="newsletter"><p>${writer.paragraph(2)}</p><input></form>${related(writer, 'Latest posts', 5)}`;
  return [frame(variant, styled, inner), text.join('\n')];
}

function collection(writer: Writer, variant: number): string[] {
  const items = Array.from({ length: 16 }, (_, at) => ({
    title: writer.heading(),
    price: `${at + 10 + variant}.50 EUR`,
  }));
  const list = items.map(
    ({ title, price }) => `<li class="product"><a href="/p">${title}</a><div class="price">${price}</div></li>`,
  );
  const title = writer.heading();
  const filters = `<div class="filters"><ul>${links(['Oak', 'Pine', 'Ash', 'Under 20', 'Under 50'])}</ul></div>`;
  const page = frame(variant, `<h1>${title}</h1><ul>${list.join('')}</ul>`, filters + sideBar(writer));
  return [page, [title, ...items.map((item) => `${item.title} ${item.price}`)].join('\n')];
}

function frame(variant: number, text: string, inner: string): string {
  return FRAMES[variant % FRAMES.length]?.(text, inner) ?? text;
}

const KINDS = { news, blog, documentation, forum, product, listing, service, collection };

/** The whole set, the same in every run. */
export const READING_PAGES: readonly ReadingPage[] = Object.entries(KINDS).flatMap(([kind, write], at) =>
  Array.from({ length: VARIANTS }, (_, variant) => {
    const writer = new Writer(100 * at + variant + 1);
    const [main = '', text = ''] = write(writer, variant);
    const body = `${hidden(writer, variant)}${header()}${main}${footer(writer)}`;
    const html = `<!doctype html><html lang="en"><head><title>Page ${variant}</title></head><body>${body}</body></html>`;
    const folder = kind === 'forum' ? 'forum/threads' : kind;
    return { kind, name: `${kind} ${variant}`, url: `https://notes.example/${folder}/${variant}`, html, text };
  }),
);
