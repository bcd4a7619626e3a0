//! The tree of a condition, as it was written.
//!
//! It says nothing about types, policies or variables: a name is a name, whether anything defines
//! it or not. Every node keeps the byte range it was read from, parentheses around it included.

use super::holes::Path;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;

#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub range: Range<usize>,
    pub kind: ExprKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// Quoted text, decoded.
    Text(String),
    /// A word without quotes where bare words are text.
    Word(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    Null,
    /// A word without quotes where bare words are variables.
    Name(String),
    /// `{{path}}`, in quotes or not.
    Hole(Path),
    List(Vec<Expr>),
    Call {
        function: Function,
        name: Range<usize>,
        args: Vec<Expr>,
    },
    Method {
        receiver: Box<Expr>,
        method: Method,
        name: Range<usize>,
        args: Vec<Expr>,
    },
    /// A call that cannot be made; the problem has been said. Its parts are kept, because the
    /// names in them still have to be right.
    Unknown {
        receiver: Option<Box<Expr>>,
        written: String,
        name: Range<usize>,
        args: Vec<Expr>,
    },
    Field {
        of: Box<Expr>,
        field: String,
        name: Range<usize>,
    },
    Index {
        of: Box<Expr>,
        index: Box<Expr>,
    },
    Not(Box<Expr>),
    /// At least two.
    And(Vec<Expr>),
    /// At least two.
    Or(Vec<Expr>),
    Compare {
        op: Comparison,
        left: Box<Expr>,
        right: Box<Expr>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
}

impl Comparison {
    pub fn word(self) -> &'static str {
        match self {
            Comparison::Eq => "==",
            Comparison::Ne => "!=",
            Comparison::Lt => "<",
            Comparison::Le => "<=",
            Comparison::Gt => ">",
            Comparison::Ge => ">=",
            Comparison::In => "in",
            Comparison::NotIn => "not in",
        }
    }
}

/// How many arguments a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    pub least: usize,
    pub most: Option<usize>,
}

impl Arity {
    pub fn allows(self, count: usize) -> bool {
        self.least <= count && self.most.is_none_or(|most| count <= most)
    }
}

macro_rules! callables {
    ($(#[$doc:meta])* $kind:ident { $($variant:ident $word:literal $least:literal $most:expr;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kind { $($variant),* }

        impl $kind {
            pub const ALL: &[$kind] = &[$($kind::$variant),*];

            pub fn word(self) -> &'static str {
                match self { $($kind::$variant => $word),* }
            }

            pub fn arity(self) -> Arity {
                match self { $($kind::$variant => Arity { least: $least, most: $most }),* }
            }

            pub fn find(word: &str) -> Option<$kind> {
                match word { $($word => Some($kind::$variant),)* _ => None }
            }
        }
    };
}

callables! {
    /// What can be called by its name alone.
    Function {
        Int "int" 1 Some(1);
        Str "str" 1 Some(1);
        Len "len" 1 Some(1);
        Bool "bool" 1 Some(1);
        Float "float" 1 Some(1);
        Min "min" 2 None;
        Max "max" 2 None;
    }
}

callables! {
    /// What can be called on a value, after a dot.
    Method {
        Strip "strip" 0 Some(0);
        Lstrip "lstrip" 0 Some(0);
        Rstrip "rstrip" 0 Some(0);
        Lower "lower" 0 Some(0);
        Upper "upper" 0 Some(0);
        Title "title" 0 Some(0);
        Startswith "startswith" 1 Some(1);
        Endswith "endswith" 1 Some(1);
        Replace "replace" 2 Some(2);
        Split "split" 0 Some(1);
        Join "join" 1 Some(1);
        Count "count" 1 Some(1);
        Find "find" 1 Some(1);
    }
}

impl Expr {
    pub fn new(range: Range<usize>, kind: ExprKind) -> Expr {
        Expr { range, kind }
    }

    /// The nodes directly below this one, in the order of the text.
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Text(_)
            | ExprKind::Word(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::Name(_)
            | ExprKind::Hole(_) => Vec::new(),
            ExprKind::List(items) | ExprKind::And(items) | ExprKind::Or(items) => {
                items.iter().collect()
            }
            ExprKind::Call { args, .. } => args.iter().collect(),
            ExprKind::Method { receiver, args, .. } => {
                std::iter::once(&**receiver).chain(args).collect()
            }
            ExprKind::Unknown { receiver, args, .. } => {
                receiver.as_deref().into_iter().chain(args).collect()
            }
            ExprKind::Field { of, .. } => vec![of],
            ExprKind::Index { of, index } => vec![of, index],
            ExprKind::Not(of) => vec![of],
            ExprKind::Compare { left, right, .. } => vec![left, right],
        }
    }

    pub fn children_mut(&mut self) -> SmallVec<[&mut Expr; 2]> {
        match &mut self.kind {
            ExprKind::Text(_)
            | ExprKind::Word(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Null
            | ExprKind::Name(_)
            | ExprKind::Hole(_) => SmallVec::new(),
            ExprKind::List(items) | ExprKind::And(items) | ExprKind::Or(items) => {
                items.iter_mut().collect()
            }
            ExprKind::Call { args, .. } => args.iter_mut().collect(),
            ExprKind::Method { receiver, args, .. } => {
                std::iter::once(&mut **receiver).chain(args).collect()
            }
            ExprKind::Unknown { receiver, args, .. } => {
                receiver.as_deref_mut().into_iter().chain(args).collect()
            }
            ExprKind::Field { of, .. } => smallvec![&mut **of],
            ExprKind::Index { of, index } => smallvec![&mut **of, &mut **index],
            ExprKind::Not(of) => smallvec![&mut **of],
            ExprKind::Compare { left, right, .. } => smallvec![&mut **left, &mut **right],
        }
    }

    /// The text that this is in quotes, and where it stands between them.
    pub fn key(&self) -> Option<(&str, Range<usize>)> {
        match &self.kind {
            ExprKind::Text(key) => Some((key, self.range.start + 1..self.range.end - 1)),
            _ => None,
        }
    }

    /// This node and all below it, outermost first.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }
}
