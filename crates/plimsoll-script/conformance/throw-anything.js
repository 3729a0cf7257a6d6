/* { "does": "what is thrown need not be an Error", "exception": "just words" } */
export default function () { throw 'just words'; }
