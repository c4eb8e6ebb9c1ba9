// Types of browsers, for the scripts of the page. They are not published.
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
