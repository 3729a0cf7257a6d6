/* { "does": "anything can be thrown", "exception": "just text" } */
export default function () {
  throw 'just text';
}
