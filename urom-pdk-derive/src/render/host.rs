//! The typed client, with a method and a task for each command.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Lifetime, Path};

use super::Render;
use crate::model::{Field, Form, Plugin, Role, Variant};
use crate::names;

const OWN_ARGUMENTS: [&str; 3] = ["worker", "callback", "limit"];

impl Render<'_> {
    pub(super) fn client(&self, plugin: &Plugin) -> (TokenStream, TokenStream) {
        let (krate, vis) = (&self.model.krate, &self.model.vis);
        let name = plugin.text();
        let doc = format!(
            " Sends commands to the plugin `{name}`: one `task_*` method for each command."
        );
        let tasks = self.pairs().map(|(variant, _)| self.task_type(variant));
        let allowed = self.allowed();
        let items = quote! {
            #[doc = #doc]
            #allowed
            #vis struct Client<AnyHost: #krate::protocol::HostSide>(AnyHost::Plugin);
            #(#tasks)*
        };
        let methods = self.pairs().map(|(variant, _)| self.task_method(variant));
        let task_impls = self.pairs().map(|(variant, reply)| self.task_impl(variant, reply));
        let shadows = names::shadows(&self.arguments());
        let (formatter, shown) = (names::local("f"), format!("Client({name})"));
        let impls = quote! {
            impl<AnyHost: __p::HostSide> __p::Clone for Client<AnyHost> {
                fn clone(&self) -> Self {
                    Self(__p::Clone::clone(&self.0))
                }
            }

            impl<AnyHost: __p::HostSide> __p::fmt::Debug for Client<AnyHost> {
                fn fmt(&self, #formatter: &mut __p::fmt::Formatter<'_>) -> __p::fmt::Result {
                    __p::fmt::Formatter::write_str(#formatter, #shown)
                }
            }

            impl<AnyHost: __p::HostSide> __p::AsRef<AnyHost::Plugin> for Client<AnyHost> {
                fn as_ref(&self) -> &AnyHost::Plugin {
                    &self.0
                }
            }

            const _: () = {
                #shadows

                impl<AnyHost: __p::HostSide> Client<AnyHost> {
                    /// The plugin as the service knows it.
                    #vis fn plugin(&self) -> &AnyHost::Plugin {
                        &self.0
                    }

                    #(#methods)*
                }

                #(#task_impls)*
            };
        };
        (items, impls)
    }

    fn arguments(&self) -> Vec<Ident> {
        let fields = self.model.variants.iter().flat_map(Variant::values);
        let names = fields.map(|field| self.argument_name(field));
        let names = names.chain(OWN_ARGUMENTS.map(|name| self.own_argument(name)));
        names
            .map(|name| (names::text(&name), name))
            .collect::<BTreeMap<_, _>>()
            .into_values()
            .collect()
    }

    fn argument_name(&self, field: &Field) -> Ident {
        self.if_no_type_has_it(&field.ident).unwrap_or_else(|| field.local())
    }

    fn own_argument(&self, name: &str) -> Ident {
        let plain = Ident::new(name, Span::mixed_site());
        self.if_no_type_has_it(&plain).unwrap_or_else(|| names::local(name))
    }

    /// Returns a name, unless a field's type contains it, perhaps as a constant.
    fn if_no_type_has_it(&self, name: &Ident) -> Option<Ident> {
        (!self.in_types.contains(&names::text(name))).then(|| name.clone())
    }

    fn task_type(&self, variant: &Variant) -> TokenStream {
        let (krate, vis) = (&self.model.krate, &self.model.vis);
        let (name, task) = (&variant.ident, names::task(&variant.ident));
        let command = self.message_type(variant, &task_lifetime());
        let doc = format!(" A command [`{}`] that is ready to be submitted.", names::text(name));
        let allowed = self.allowed();
        quote! {
            #[doc = #doc]
            #[must_use = "a task does nothing until it is submitted"]
            #allowed
            #vis struct #task<'task, AnyHost: #krate::protocol::HostSide>(
                #krate::protocol::Task<'task, AnyHost, #command>,
            );
        }
    }

    /// Required values are arguments; echoed and optional fields have setters.
    fn task_method(&self, variant: &Variant) -> TokenStream {
        let vis = &self.model.vis;
        let (name, task) = (&variant.ident, names::task(&variant.ident));
        let method = names::task_method(&variant.ident);
        let (worker, command) = (self.own_argument("worker"), names::local("command"));
        let otherwise = format!(" Makes the command [`{}`].", names::text(name));
        let docs = self.copied_docs(&variant.docs, &otherwise);
        let given = variant.values().filter(|field| !field.has_setter());
        let (given, types): (Vec<_>, Vec<_>) =
            given.map(|field| (self.argument_name(field), self.passed(field).0)).unzip();
        // They have the user's spans, so lints would report them to the user.
        let unused = self.inert.then(|| quote!(#(let _ = #given;)*));
        // clippy checks macro output. Its limit of seven counts `self` and the worker.
        let many = given.len() > 5;
        let allowed = many.then(
            || quote!(#[allow(clippy::too_many_arguments, reason = "one for each field that must be given")]),
        );
        let members = variant.values().map(|field| {
            let ident = &field.ident;
            match field.has_setter() {
                true => {
                    let unset = self.unset(field);
                    quote!(#ident: #unset)
                }
                // The short form, which clippy requires for definitions inside user macros.
                false if self.is_passed_as_it_is(field) && self.argument_name(field) == *ident => {
                    quote!(#ident)
                }
                false => {
                    let (_, value) = self.passed(field);
                    quote!(#ident: #value)
                }
            }
        });
        let body = self.body(quote! {
            let #command = #name { #(#members),* };
            #task { 0: __p::Task::new(&self.0, #worker, #command) }
        });
        quote! {
            #docs
            #allowed
            #vis fn #method<'task>(
                &'task self,
                #worker: &'task AnyHost::Worker,
                #(#given: #types),*
            ) -> #task<'task, AnyHost> {
                #unused
                #body
            }
        }
    }

    fn passed(&self, field: &Field) -> (TokenStream, TokenStream) {
        let (argument, ty) =
            (self.argument_name(field), self.with_lifetime(&field.ty, &task_lifetime()));
        if self.is_passed_as_it_is(field) {
            (ty, quote!(#argument))
        } else {
            (quote!(impl __p::Into<#ty>), quote!(__p::Into::into(#argument)))
        }
    }

    /// Returns whether a value is passed by its own type, as references are for coercions.
    fn is_passed_as_it_is(&self, field: &Field) -> bool {
        let shape = &field.shape;
        !field.is_payload()
            || !shape.option && matches!(shape.form, Form::Slice | Form::Array | Form::Str)
    }

    fn unset(&self, field: &Field) -> TokenStream {
        match field.role {
            Role::Codec(_) => quote_spanned!(field.ty.span()=> ::core::default::Default::default()),
            Role::Payload(_) => quote!(__p::unset()),
            Role::Plain | Role::Word => self.zero(field),
        }
    }

    fn task_impl(&self, variant: &Variant, reply: &Path) -> TokenStream {
        let vis = &self.model.vis;
        let task = names::task(&variant.ident);
        let [callback, limit] = ["callback", "limit"].map(|name| self.own_argument(name));
        let setters = variant.values().filter(|field| field.has_setter()).map(|field| {
            let (ident, argument) = (&field.ident, self.argument_name(field));
            let (ty, value) = self.passed(field);
            let doc = match (field.is_echoed(), field.is_payload()) {
                (true, _) => ", which the answer repeats; 0 unless set",
                (false, true) => "; empty or not there unless set",
                (false, false) => "; 0 unless set",
            };
            let otherwise = format!(" Sets `{}`{doc}.", names::text(ident));
            let docs = self.copied_docs(&field.docs, &otherwise);
            let name = names::made(ident);
            quote! {
                #docs
                #vis fn #name(mut self, #argument: #ty) -> Self {
                    self.0.command.#ident = #value;
                    self
                }
            }
        });
        let command = self.message_type(variant, &task_lifetime());
        // On the answer's span, so that an invalid notification is one error.
        let submitted = quote_spanned!(reply.span()=> __p::Submitted<AnyHost, #command>);
        let answered = quote_spanned!(reply.span()=> __p::AnsweredBy<AnyHost, #command>);
        // `self` belongs to the enclosing function, whatever the span of the answer's name.
        let this = quote!(self);
        let submit = quote_spanned!(reply.span()=> __p::Task::submit(#this.0));
        let submit_with = quote_spanned!(reply.span()=> #this.0.submit_with(#callback));
        // rustc reports a wrong type of an item where the item is.
        let items = quote_spanned! {reply.span()=>
            type Output = __p::Awaited<AnyHost, #command>;
            type IntoFuture = #answered;

            fn into_future(#this) -> #answered {
                __p::Answered::new(#submit)
            }
        };
        let into_future = quote! {
            /// Submits the task when it is awaited.
            impl<'task, AnyHost: __p::HostSide> __p::IntoFuture for #task<'task, AnyHost> {
                #items
            }
        };
        quote! {
            impl<'task, AnyHost: __p::HostSide> #task<'task, AnyHost> {
                #(#setters)*

                /// Ends the task with `TIME_OUT` unless it is answered within `limit` of its
                /// submission. Overrides the worker's timeout; `Duration::MAX` means none.
                #vis fn timeout(self, #limit: __p::Duration) -> Self {
                    Self(self.0.timeout(#limit))
                }

                /// Is [`Self::timeout`].
                #[deprecated(note = "use `timeout`")]
                #vis fn deadline(self, #limit: __p::Duration) -> Self {
                    self.timeout(#limit)
                }

                /// Submits the command; after an error nothing was sent.
                #vis fn submit(self) -> #submitted {
                    #submit
                }

                /// The same with a `callback`, called inside a progress call unless this fails.
                /// The handle cancels the task, and may be dropped.
                #vis fn submit_with(
                    self,
                    #callback: impl __p::FnOnce(__p::Result<#reply, AnyHost::Error>) + 'static,
                ) -> __p::Result<AnyHost::Handle, AnyHost::Error> {
                    #submit_with
                }
            }

            #into_future
        }
    }
}

fn task_lifetime() -> Lifetime {
    Lifetime::new("'task", Span::call_site())
}
